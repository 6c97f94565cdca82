/** Everything that is installed with this package may be used under licences that ask for no more than a notice (`docs/licences.md`). */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

interface Locked {
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
const packages: Readonly<Record<string, Locked>> = JSON.parse(
  readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
).packages;

/** Where npm put what `from` asks for: beside it, or above. */
function find(from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = `${at && `${at}/`}node_modules/${name}`;
    if (packages[path]) return path;
    if (!at) return undefined;
  }
}

/** Dependencies and peers of this package, with theirs: names by licence. */
function installed(): Map<string, Set<string>> {
  const seen = new Map<string, Set<string>>();
  const visited = new Set<string>();
  const visit = (path: string): void => {
    if (visited.has(path)) return;
    visited.add(path);
    const { license = 'not stated', ...asks } = packages[path] ?? {};
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (path) seen.set(license, (seen.get(license) ?? new Set()).add(name));
    for (const each of [asks.dependencies, asks.optionalDependencies, asks.peerDependencies])
      for (const asked of Object.keys(each ?? {})) {
        const found = find(path, asked);
        if (found) visit(found);
      }
  };
  visit('');
  return seen;
}

const REMARKS: Readonly<Record<string, string>> = {
  'CC-BY-4.0': 'Data, not code.',
  'not stated': 'Its file `LICENSE` is the Unlicense.',
};
const HEAD = `# Licences of what is installed with this package

Dependencies and peers of \`temporal-continuations\` (MIT), with everything that they bring, from \`package-lock.json\`. All of them ask
for no more than that their notice is kept. \`npx vitest run test/licences.test.ts -u\` writes this page.
`;

function page(licences: ReadonlyMap<string, ReadonlySet<string>>): string {
  const sections = [...licences]
    .sort(([one, { size: ones }], [other, { size: others }]) => others - ones || one.localeCompare(other))
    .map(([licence, names]) => {
      const list = [...names].sort().map((name) => `- \`${name}\``);
      const remark = REMARKS[licence];
      return [`\n## ${licence}\n`, ...(remark ? [`${remark}\n`] : []), ...list, ''].join('\n');
    });
  return HEAD + sections.join('');
}

describe('licences of what is installed with this package', () => {
  test('are all listed', async () => {
    await expect(page(installed())).toMatchFileSnapshot('../docs/licences.md');
  });

  test('are these and no others', () => {
    const allowed = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', 'Unlicense'];
    const also = ['Apache-2.0 AND MIT', '(AFL-2.1 OR BSD-3-Clause)', 'CC-BY-4.0'];
    const others = [...installed()].filter(([licence]) => ![...allowed, ...also].includes(licence));
    expect(others).toEqual([['not stated', new Set(['unionfs'])]]);
  });
});
