/** What the tests of streams and of subscriptions share. */
import assert from 'node:assert/strict';
import { StreamInterruptedError, type AgentStream } from '../../src/client/index.ts';
import type { StreamItem } from '../../src/protocol/index.ts';
import { collect, status } from './peer.ts';

export const done = status('completed', true);

/** What came, in short: the kind, its text or state, and its number. */
export function short({ event, seq }: StreamItem): string {
  const what =
    event.kind === 'artifact-update'
      ? event.artifact.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
      : event.kind === 'message'
        ? 'message'
        : `${event.kind === 'task' ? 'task ' : ''}${event.status.state}`;
  return seq === undefined ? what : `${seq} ${what}`;
}

export async function all(stream: AgentStream): Promise<string[]> {
  return (await collect(stream)).map(short);
}

export function interrupted(taskId: string | undefined, lastSeq?: number) {
  return (error: unknown) => {
    assert.ok(error instanceof StreamInterruptedError, String(error));
    assert.deepEqual([error.taskId, error.lastSeq], [taskId, lastSeq]);
    return true;
  };
}
