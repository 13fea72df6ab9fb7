/** Runs and their parts, for tests of the framework. */
import type { Event } from '../../src/agent/event.ts';
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

export function toolOf(name: string, run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return { name, description: name, parameters: { type: 'object' }, run, ...more };
}
