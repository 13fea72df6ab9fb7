/** Load from real A2A clients: the official SDK in both majors, and our own client, which resumes its streams itself. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { connect } from '../../src/client.ts';
import { sdk03 } from '../interop/sdk-03-client.ts';
import { sdk1 } from '../interop/sdk-1-client.ts';
import { partsText, type Peer, type PeerClient, type Said, type Seen } from '../interop/seen.ts';
import { aboutEvent, type History } from './checker.ts';
import type { LoadOptions } from './clients.ts';
import { freshFetch } from './fresh-fetch.ts';

export const SDKS: readonly Peer[] = [
  sdk03('JSONRPC'),
  sdk1('JSONRPC'),
  sdk03('HTTP+JSON'),
  sdk1('HTTP+JSON'),
];

const FINAL = new Set(['completed', 'failed', 'canceled', 'rejected', 'input-required']);

/** How long our own client follows one task. */
const STREAM_MS = 12_000;

export type SdkLoad = Pick<LoadOptions, 'base' | 'history' | 'random' | 'signal'>;

/** Runs `act` with a client of the SDK until the signal is aborted. What fails is tried no more. */
export async function sdkClient(
  peer: Peer,
  load: SdkLoad,
  act: (client: PeerClient) => Promise<void>,
  token?: string,
): Promise<void> {
  let client: PeerClient | undefined;
  while (!load.signal.aborted) {
    try {
      client ??= await peer.connect(load.base, {
        fetch: freshFetch,
        ...(token !== undefined && { token }),
      });
      await act(client);
    } catch {
      // The node was killed, paused, or could not reach the database.
      await setTimeout(50);
    }
  }
}

/** What a client does with the agent of agent.ts. */
export function agentAct(load: SdkLoad & Pick<LoadOptions, 'hook'>) {
  const { history, random, hook } = load;
  return async (client: PeerClient): Promise<void> => {
    const choice = random();
    const steps = `steps ${2 + Math.floor(random() * 15)} ${Math.floor(random() * 40)}`;
    if (choice < 0.5) await streamed(client, history, { text: steps });
    else if (choice < 0.75) {
      const taskId = await sent(client, history, { text: 'tool' });
      const answers = ['yes', 'yes'].map((text) =>
        sent(client, history, { text, taskId }).catch(() => undefined),
      );
      await Promise.all(answers);
    } else if (choice < 0.85) {
      const taskId = await sent(client, history, { text: 'steps 50 50', blocking: false });
      await client.cancel(taskId);
    } else {
      const configId = randomUUID();
      const push = { id: configId, url: `${hook}/${configId}`, token: '' };
      const taskId = await sent(client, history, { text: steps, blocking: false, push });
      history.webhooks.push({ taskId, configId, after: 0 });
    }
  };
}

/** Sends a message. Returns the id of its task, and writes down that it was acknowledged. */
export async function sent(client: PeerClient, history: History, said: Said): Promise<string> {
  const messageId = randomUUID();
  const task = await client.send({ ...said, messageId });
  if (task.kind !== 'task') throw new Error('no task');
  history.acknowledged.push({ messageId, taskId: task.id });
  return task.id;
}

/** Starts a task and reads its stream. If the stream breaks, subscribes again. */
export async function streamed(client: PeerClient, history: History, said: Said): Promise<void> {
  const messageId = randomUUID();
  let read = await readAll(client.stream({ ...said, messageId }), history);
  const { taskId } = read;
  if (taskId === undefined) return;
  history.acknowledged.push({ messageId, taskId });
  for (let tries = 0; !read.isWhole && tries < 5; tries++) {
    await setTimeout(100);
    read = await readAll(client.resubscribe(taskId), history, taskId);
  }
}

/** Reads a stream to its end, whether it ends well or not, and writes down what came. The SDK hides event ids. */
async function readAll(stream: AsyncIterable<Seen>, history: History, known?: string) {
  const events: string[] = [];
  let taskId = known;
  let isWhole = false;
  try {
    for await (const seen of stream) {
      if (seen.kind === 'message') continue;
      taskId ??= seen.kind === 'task' ? seen.id : seen.taskId;
      isWhole = seen.kind === 'status' && FINAL.has(seen.state);
      events.push(aboutSeen(seen));
    }
  } catch {
    isWhole = false;
  }
  if (taskId !== undefined && events.length > 0) {
    history.unnumbered.push({ taskId, events, isWhole, isNew: known === undefined });
  }
  return { taskId, isWhole };
}

function aboutSeen(seen: Exclude<Seen, { kind: 'message' }>): string {
  if (seen.kind === 'task') return 'task';
  return seen.kind === 'status' ? `status ${seen.state}` : `artifact ${partsText(seen.parts)}`;
}

/** Our own client. A stream that does not throw has all events, whatever happened to its connections. */
export async function ownClient(load: SdkLoad): Promise<void> {
  const { base, history, random, signal } = load;
  while (!signal.aborted) {
    const text = `steps ${5 + Math.floor(random() * 30)} 30`;
    const message = { messageId: randomUUID(), parts: [{ kind: 'text' as const, text }] };
    const events: { seq: number; about: string }[] = [];
    let taskId = '';
    let isWhole = false;
    try {
      await using agent = await connect(base, { fetch: freshFetch });
      const until = AbortSignal.timeout(STREAM_MS);
      for await (const { event, seq } of agent.stream(message, {
        retrySend: true,
        signal: until,
      })) {
        if (event.kind === 'message' || seq === undefined) continue;
        taskId = event.kind === 'task' ? event.id : event.taskId;
        events.push({ seq, about: aboutEvent(event) });
      }
      isWhole = true;
    } catch {
      await setTimeout(50);
    }
    if (events.length === 0) continue;
    history.acknowledged.push({ messageId: message.messageId, taskId });
    history.streams.push({ taskId, events, isWhole });
  }
}
