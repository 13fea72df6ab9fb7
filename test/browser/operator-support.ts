/** Agents, servers and traffic for the tests of the operator's pages. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { connect } from '../../src/client/index.ts';
import { createAgent, serve, type ServeOptions } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { memoryStore } from '../../src/tasks/index.ts';
import { silent } from '../live/support.ts';
import { DESKTOP, PHONE, visit, type Visit } from './support.ts';

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

/** Whether the tests write their pictures to docs/images. */
export const DRAWS = process.env['PARLEY_SCREENSHOTS'] === '1';
const IMAGES = join(import.meta.dirname, '../../docs/images');
export const LOOKS = [
  [{ ...DESKTOP, colorScheme: 'light' }, 'desktop-light'],
  [{ ...DESKTOP, colorScheme: 'dark' }, 'desktop-dark'],
  [{ ...PHONE, deviceScaleFactor: 1.5, colorScheme: 'light' }, 'phone-light'],
  [{ ...PHONE, deviceScaleFactor: 1.5, colorScheme: 'dark' }, 'phone-dark'],
] as const;

export async function shoot(page: Page, name: string, look: string): Promise<void> {
  await page.evaluate('document.fonts.ready');
  await page.screenshot({ path: join(IMAGES, `console-${name}-${look}.png`) });
}

const MANY = 100_000;

/** A SQLite file with so many finished tasks of one owner. */
export function manyTasks(t: TestContext, owner = '') {
  const folder = mkdtempSync(join(tmpdir(), 'p-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqliteStore(join(folder, 'tasks.db'));
  const scope = { tenant: '', owner };
  const start = Date.UTC(2026, 0, 1);
  for (let from = 0; from < MANY; from += 5000) {
    const batch = Array.from({ length: 5000 }, (_, index) => {
      const number = from + index;
      const taskId = `task-${String(number).padStart(6, '0')}`;
      const contextId = `context-${number % 1000}`;
      const timestamp = new Date(start + number * 1000).toISOString();
      const parts = [{ kind: 'text' as const, text: `request number ${number}` }];
      const message = {
        kind: 'message' as const,
        messageId: `m${number}`,
        role: 'user' as const,
        parts,
      };
      const status = { state: 'completed' as const, timestamp };
      const task = { kind: 'task' as const, id: taskId, contextId, status, history: [message] };
      return { ...scope, taskId, contextId, expected: 0, entries: [{ seq: 1, event: task }] };
    });
    store.append(batch);
  }
  return store;
}
