import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // One process per file: the Temporal SDK keeps one native runtime per process.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Type tests (test/**/*.test-d.ts, expectTypeOf) fail in `npm run types`, where the compiler reads them anyway.
  },
});
