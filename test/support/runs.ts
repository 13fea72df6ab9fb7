/** Runs and their parts, for tests of the framework. */
import type { Event } from '../../src/agent/event.ts';
import type { SessionStore } from '../../src/agent/session.ts';
import type { Tool } from '../../src/agent/tool.ts';

/** Whose session it is. */
export const at = { user: 'ann', session: 's' };

export function words(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Runs to the end. */
export async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const found: Event[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** The store as a process has it that dies: after `die`, nothing that the process does is stored. */
export function mortal(sessions: SessionStore): {
  readonly store: SessionStore;
  readonly die: () => void;
} {
  let dead = false;
  const store: SessionStore = {
    open: (key, state) => sessions.open(key, state),
    get: (key) => sessions.get(key),
    append: (key, events) =>
      dead ? Promise.reject(new Error('the process is dead')) : sessions.append(key, events),
    list: (owner, page) => sessions.list(owner, page),
    delete: (key) => (dead ? Promise.resolve(false) : sessions.delete(key)),
    close: () => sessions.close(),
  };
  return { store, die: () => void (dead = true) };
}

export function toolOf(name: string, run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return { name, description: name, parameters: { type: 'object' }, run, ...more };
}
