/** Agents, servers and traffic for the tests of the operator's pages. */
import type { TestContext } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import { connect } from '../../src/client/index.ts';
import { createAgent, serve, type ServeOptions } from '../../src/server.ts';
import { memoryStore } from '../../src/tasks/index.ts';
import { silent } from '../live/support.ts';
import { visit, type Visit } from './support.ts';

/** An agent that repeats, asks, waits until it is canceled, or fails, as the message says. */
export const clerk = createAgent(
  { name: 'Clerk', description: 'Repeats, asks, waits and fails' },
  async function* (ctx) {
    if (ctx.text.startsWith('ask')) {
      const answer = await ctx.ask('Which city do you mean?');
      yield `The weather in ${answer.text} is fine.`;
    } else if (ctx.text.startsWith('wait')) {
      yield 'I am waiting.';
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    } else if (ctx.text.startsWith('fail')) {
      throw new Error('broken');
    } else {
      yield `You said **${ctx.text}**.`;
    }
  },
);

/** Opens a page of the gateway, and signs in with the key. */
export async function signIn(
  t: TestContext,
  { url, key, place }: { readonly url: string; readonly key: string; readonly place: string },
  options: BrowserContextOptions,
): Promise<Visit> {
  const visited = await visit(t, `${url}/console#/${place}`, options);
  await visited.page.getByLabel('Key').fill(key);
  await visited.page.getByRole('button', { name: 'Sign in' }).click();
  return visited;
}

export async function serveClerk(t: TestContext, options: ServeOptions = {}) {
  const server = serve(clerk, { logger: silent, console: true, ...options });
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  const { url } = listening;
  const client = await connect(url);
  return { url, client, server };
}

/** A store whose lists fail while it is taken away. */
export function movable() {
  let away = false;
  const store = new Proxy(memoryStore(), {
    get(target, name) {
      // Only the errors of a durable store mean that it is unavailable.
      if (name === 'durable') return true;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (away && name === 'list') throw new Error('the disk is gone');
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { store, take: () => (away = true), bring: () => (away = false) };
}
