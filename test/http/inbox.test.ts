/** The inbox as a browser without scripts meets it, on real servers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Permission, WaitType } from '../../src/schema.ts';
import type { TestApi } from '../support/http.ts';
import { createTestInbox, Visitor } from '../support/inbox.ts';
import { type Actors, becomes, createActors, created, pause, type Stack, startStack } from '../support/stack.ts';

let stack: Stack;
let api: TestApi;
let actors: Actors;
beforeAll(async () => {
  stack = await startStack();
  api = createTestInbox(stack);
  actors = createActors();
  await stack.startWorker({ harness: actors.harness, delivery: actors.delivery });
});
afterAll(() => stack?.close());

async function visitor(given: { subject?: string; scope?: string; permissions?: Permission[] } = {}): Promise<Visitor> {
  const { token } = await api.user(given);
  const one = new Visitor(api.app);
  const shown = await one.logIn(token);
  expect(shown.status).toBe(303);
  return one;
}
const asked = (type: WaitType = 'user_reply') => created(stack.client, pause(type));

describe('the login', () => {
  test('is asked for first, and leads to the page that was wanted', async () => {
    const { id } = await asked();
    const one = new Visitor(api.app);
    const sent = await one.get(`/inbox/${id}`);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/inbox/login?next=${id}`]);
    const { token } = await api.user();
    const in_ = await one.logIn(token, id);
    expect([in_.status, in_.headers.get('location')]).toEqual([303, `/inbox/${id}`]);
    expect((await one.get(`/inbox/${id}`)).text).toContain('Which colour?');
  });
});

describe('an answer', () => {
  test('to a question', async () => {
    const { id } = await asked();
    const alice = await visitor();
    const page = await alice.get(`/inbox/${id}`);
    const sent = await alice.fill(page, `/inbox/${id}/answer`, { text: 'Green' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/inbox/${id}?done=accepted`]);
    const record = await becomes(stack.client, id);
    expect(record.status).toBe('completed');
  });
});
