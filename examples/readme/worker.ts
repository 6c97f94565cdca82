import { NativeConnection } from '@temporalio/worker';
import { createStore, createWorker, ensureSearchAttributes, migrate } from 'temporal-continuations';
import { harness } from './harness.ts';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
await migrate({ url });
const connection = await NativeConnection.connect({ address });
await ensureSearchAttributes(connection);
const worker = await createWorker({
  connection,
  store: createStore({ url }),
  harness,
  delivery: {
    async deliver({ harnessResult }) {
      console.log(`To the user: ${harnessResult.assistantMessage?.text}`);
      return { status: 'delivered' };
    },
  },
});
await worker.run();
