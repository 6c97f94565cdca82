import { Connection } from '@temporalio/client';
import { createClient, createStore } from 'temporal-continuations';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
const store = createStore({ url });
const connection = await Connection.connect({ address });
const client = createClient({ connection, store, caller: { subject: 'alice@example.com', channel: 'back-office' } });

const [, , continuationId = ''] = process.argv;
const answered = await client.resume(
  { continuationId, trigger: { type: 'approval_resolution', approvalId: 'refund-1042', decision: 'approved' } },
  { until: 'finished' },
);
if (!answered.ok) {
  const { code, winner } = answered.refusal;
  console.log(winner ? `${code}: ${winner.subject} ${winner.decision} at ${winner.receivedAt}` : code);
} else if (answered.outcome === 'accepted') {
  console.log(`${answered.record.status}, follow-up ${answered.delivery?.status}`);
}
await client.close();
await store.close();
await connection.close();
