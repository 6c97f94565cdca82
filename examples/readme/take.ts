import { Connection } from '@temporalio/client';
import { createClient, createStore } from 'temporal-continuations';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
const store = createStore({ url });
const connection = await Connection.connect({ address });
const client = createClient({ connection, store, caller: { subject: 'alice@example.com', channel: 'chat' } });

const [, , continuationId = ''] = process.argv;
const taken = await client.take({
  continuationId,
  trigger: { type: 'approval_resolution', approvalId: 'refund-1042', decision: 'approved' },
});
// Handed out once: here the interactive session goes on with the turn.
if (taken.ok && taken.outcome === 'taken') console.log(`go on with ${JSON.stringify(taken.state)}`);
else console.log(taken.ok ? taken.outcome : taken.refusal.code);
await client.close();
await store.close();
await connection.close();
