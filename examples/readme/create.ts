import { Connection } from '@temporalio/client';
import { createClient, createStore } from 'temporal-continuations';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
const store = createStore({ url });
const connection = await Connection.connect({ address });
const client = createClient({ connection, store });

// Your agent's turn ended like this: it may not refund without an approval.
const created = await client.create({
  assistantId: 'support',
  originTurnId: `turn-${Date.now()}`,
  harnessResult: {
    outcome: 'awaiting_approval',
    assistantMessage: { text: 'May I refund order 1042 (49.90 EUR)?' },
    continuation: { state: { approvalId: 'refund-1042', order: '1042' } },
  },
});
console.log(created.ok ? created.record.id : created.refusal.message);
await client.close();
await store.close();
await connection.close();
