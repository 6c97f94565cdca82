/** The files of the pages: read once, named by what is in them, so that browsers may keep them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Hono } from 'hono';
import type { Place } from './session.ts';

const CSS = 'text/css; charset=utf-8';
const TYPES = {
  'base.css': CSS,
  'forms.css': CSS,
  'asks.css': CSS,
  'inbox.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;
type AssetName = keyof typeof TYPES;

/** In their order: later ones build on those before. */
export const STYLES = ['base.css', 'forms.css', 'asks.css'] as const satisfies readonly AssetName[];

const texts = new Map<AssetName, { text: string; version: string }>();
function asset(name: AssetName): { text: string; version: string } {
  let found = texts.get(name);
  if (!found) {
    const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
    found = { text, version: createHash('sha256').update(text).digest('hex').slice(0, 12) };
    texts.set(name, found);
  }
  return found;
}

export function assetPath({ base }: Place, name: AssetName): string {
  return `${base}/assets/${name}?v=${asset(name).version}`;
}

export function createAssets(): Hono {
  const app = new Hono();
  for (const [name, type] of Object.entries(TYPES) as Array<[AssetName, string]>) {
    app.get(`/${name}`, (c) => {
      c.header('content-type', type);
      c.header('cache-control', 'public, max-age=31536000, immutable');
      return c.body(asset(name).text);
    });
  }
  return app;
}
