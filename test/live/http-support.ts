/** A live session over HTTP that Ann also watches. */
import type { TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { writes } from '../coder/talk.ts';
import { serveSession, Watcher, type OpenOptions } from './support.ts';

export const says = (text: string): ScriptedResponse => [{ text }];
/** A turn that lasts until somebody answers. */
export const ASKS: readonly ScriptedResponse[] = [writes('a.txt', 'A'), says('Written.')];

export async function shared(t: TestContext, options: OpenOptions = {}) {
  const served = await serveSession(t, options);
  const ann = new Watcher(served.live.join({ kind: 'terminal', name: 'Ann' }));
  await ann.until((item) => (item.kind === 'snapshot' ? true : undefined));
  return { ...served, ann };
}

/** Waits until Ann sees so many queued prompts of others, and returns them. */
export const queue = (ann: Watcher, count: number) =>
  ann.until((item) => {
    const queued =
      item.kind === 'presence' ? item.queued.filter((each) => each.from !== 'Ann') : [];
    return queued.length === count ? queued : undefined;
  });

export const v1 = (text: string) => ({
  message: { messageId: `${Math.random()}`, role: 'ROLE_USER', parts: [{ text }] },
});
export const json = async (url: string, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
};
