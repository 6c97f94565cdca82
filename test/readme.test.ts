/** The README says what is there: its snippets are the files that run, its guarantees name tests that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('..', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const readme = read('README.md');

describe('README', () => {
  const snippets = [...readme.matchAll(/<!-- (examples\/readme\/\S+) -->\n```ts\n([\s\S]*?)```/g)];

  test('shows its snippets, each the very file that the tests run', () => {
    expect(snippets).toHaveLength(5);
    for (const [, path, code] of snippets) expect(code, path).toBe(read(path as string));
  });

  const guarantees = [...readme.matchAll(/^\| \*\*(C\d+)\*\* .*\|(.*)\|$/gm)];

  test('lists the guarantees C1 to C16 in their order', () => {
    expect(guarantees.map(([, number]) => number)).toEqual(Array.from({ length: 16 }, (_, index) => `C${index + 1}`));
  });

  test.each(guarantees.map(([, number, shown]) => [number, shown as string]))(
    '%s names tests that exist, or is marked planned',
    (_, shown) => {
      const named = [...shown.matchAll(/\[([^\]]+)\]\((test\/\S+?)\)/g)];
      if (named.length === 0) expect(shown).toContain('*planned*');
      for (const [, title, path] of named)
        expect(read(path as string), `${path} has a test "${title}"`).toContain(title as string);
    },
  );

  test('names every option of client and worker, and every bound', () => {
    const optionsOf = (path: string, name: string) => {
      const body = read(path).match(new RegExp(`interface ${name} \\{([\\s\\S]*?)\\n\\}`))?.[1] ?? '';
      return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option]) => option as string);
    };
    const options = [
      ...optionsOf('src/client-options.ts', 'ContinuationClientOptions'),
      ...optionsOf('src/worker.ts', 'ContinuationWorkerOptions'),
      ...optionsOf('src/worker.ts', 'MaintenanceSettings'),
    ];
    expect(options.length).toBeGreaterThan(20);
    expect(options.filter((option) => !readme.includes(`\`${option}\``))).toEqual([]);
  });
});

test.each([
  ['docs/ai-sdk.md', 4],
  ['docs/engine.md', 1],
])('%s shows the very files that are compiled or run', (page, count) => {
  const snippets = [...read(page).matchAll(/<!-- (examples\/\S+) -->\n```ts\n([\s\S]*?)```/g)];
  expect(snippets).toHaveLength(count);
  for (const [, path, code] of snippets) expect(code, path).toBe(read(path as string));
});

test.each(['README.md', ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`)])(
  '%s links to files that exist',
  (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => link as string);
    expect(links.filter((link) => !existsSync(new URL(link, new URL(page, root))))).toEqual([]);
  },
);

test('the page on the sources names tests that exist', () => {
  const named = [...read('docs/sources.md').matchAll(/\[([^\]]+)\]\(\.\.\/(test\/\S+?)\)/g)];
  expect(named.length).toBeGreaterThan(60);
  for (const [, title, path] of named)
    expect(read(path as string), `${path} has a test "${title}"`).toContain(title as string);
});
