/** `dev`: a whole stack for development, until it is told to end. What it needs is loaded only for it. */
import { loadConfig } from '../config.ts';
import type { DevPlaces } from '../dev/run-dev.ts';
import { type CliCommand, defineOfflineCommand } from './command.ts';
import type { CliIo } from './io.ts';
import { EXIT, printJson } from './outcome.ts';

const port = (description: string) => ({ type: 'string', valueHint: 'port', description }) as const;

export const dev: CliCommand = defineOfflineCommand('dev', {
  description: 'Start Temporal, PostgreSQL, the HTTP API with the inbox and a worker, until told to end.',
  args: {
    data: { type: 'string', valueHint: 'dir', description: 'Where data stays (CONTINUATIONS_DATA); default: .data.' },
    'temporal-port': port('Default: 7233.'),
    'ui-port': port("Temporal's web UI. Default: 8233."),
    'database-port': port('PostgreSQL. Default: 54329.'),
    'http-port': port('HTTP API and inbox. Default: 8081.'),
  },
  examples: ['dev', 'dev --data /tmp/try --http-port 9000', 'dev --json'],
  async run(args, io) {
    const config = loadConfig(io.env);
    const [{ startDev }, { startOptionsOf }, { createCleanup }] = await Promise.all([
      import('../dev/run-dev.ts'),
      import('../dev/start-options.ts'),
      import('../dev/cleanup.ts'),
    ]);
    const options = startOptionsOf(args, config.dataDir);
    const cleanup = createCleanup();
    const ended = io.ended();
    const note = (line: string) => io.error(line);
    try {
      const started = startDev({ options, config, env: io.env, cleanup, note });
      const places = await Promise.race([started, ended]);
      // Told to end while it starts: what is starting is ended when it has started.
      if (!places) await started.catch(() => undefined);
      else await untilEnded(places, ended, args.json === true, io);
    } finally {
      await cleanup.run();
    }
    return EXIT.done;
  },
});

async function untilEnded(
  { working, ...places }: DevPlaces,
  ended: Promise<void>,
  json: boolean,
  io: CliIo,
): Promise<void> {
  if (json) printJson(places, io);
  else io.out(description(places, working !== undefined));
  await Promise.race([ended, ...(working ? [working] : [])]);
  io.error('Ending the servers …');
}

function description(places: Omit<DevPlaces, 'working'>, works: boolean): string {
  const rows = [
    ['Inbox', places.inboxUrl],
    ['Key for it', places.key],
    ['Temporal', places.temporalAddress],
    ...(places.temporalUiUrl ? [['Temporal UI', places.temporalUiUrl]] : []),
    ['Database', places.databaseUrl],
  ];
  const agent = works
    ? 'Turns run at CONTINUATIONS_AGENT_URL.'
    : 'No worker: start yours, or set CONTINUATIONS_AGENT_URL to the service that runs turns. Until then answers are stored.';
  return [...rows.map(([name = '', value]) => `${name.padEnd(14)}${value}`), '', agent, 'Ctrl-C ends everything.'].join(
    '\n',
  );
}
