import { NativeConnection } from '@temporalio/worker';
import { createStore, createWorker, migrate } from 'temporal-continuations';
import { agent } from './agent.ts';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
await migrate({ url });
const worker = await createWorker({
  connection: await NativeConnection.connect({ address }),
  store: createStore({ url }),
  harness: agent,
});
await worker.run();
