/** `serve`, `worker`: processes that run until they are told to end. What they need is loaded only for them. */
import { type CliCommand, defineCliCommand, UsageError } from './command.ts';
import { EXIT } from './outcome.ts';

const serve = defineCliCommand('serve', {
  description: 'Serve the HTTP API until it is told to end (CONTINUATIONS_HOST, CONTINUATIONS_PORT, …).',
  args: {
    host: { type: 'string', valueHint: 'address', description: 'Where to listen; default: 127.0.0.1.' },
    port: { type: 'string', valueHint: 'n', description: 'Default: 8080.' },
  },
  examples: ['serve', 'serve --port 9000', 'serve --host 0.0.0.0'],
  async run(args, { target, io }) {
    const port = args.port === undefined ? target.http.port : Number(args.port);
    if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) throw new UsageError('--port must be 0 to 65535.');
    const { startServer } = await import('../app-server.ts');
    const server = await startServer({
      ...target,
      http: { ...target.http, port, host: args.host ?? target.http.host },
    });
    io.out(`Listening on ${server.url}`);
    await io.ended();
    io.out('Ending: requests that run may finish.');
    await server.close();
    return EXIT.done;
  },
});

const worker = defineCliCommand('worker', {
  description: 'Run turns through your agent service (CONTINUATIONS_AGENT_URL) until it is told to end.',
  args: {},
  examples: ['worker'],
  async run(_, { target, io }) {
    const { startWorker } = await import('../app-worker.ts');
    const running = await startWorker(target);
    io.out(`Working on ${target.taskQueue}.`);
    await Promise.race([io.ended(), running.finished]);
    io.out('Ending: turns that run may finish.');
    await running.close();
    return EXIT.done;
  },
});

export const serverCommands: readonly CliCommand[] = [serve, worker];
