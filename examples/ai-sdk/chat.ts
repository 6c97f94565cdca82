import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { createClient, createStore } from 'temporal-continuations';
import { agent } from './agent.ts';

const { DATABASE_URL: url = '', TEMPORAL_ADDRESS: address = 'localhost:7233' } = process.env;
const store = createStore({ url });
const connection = await Connection.connect({ address });
const client = createClient({ connection, store });

const turnId = `turn-${randomUUID()}`;
const harnessResult = await agent.runFirstTurn({ turnId, prompt: process.argv[2] ?? '' });
console.log(harnessResult.assistantMessage?.text);
if ('continuation' in harnessResult) {
  const bounds = { onDenied: 'tell_model' } as const;
  const created = await client.create({ assistantId: 'shop', originTurnId: turnId, harnessResult, bounds });
  if (!created.ok) throw new Error(created.refusal.message);
  const { id, suspension } = created.record;
  console.log(`npx continuations approve ${id} --suspension ${suspension.id} --until finished`);
}
await client.close();
await store.close();
await connection.close();
