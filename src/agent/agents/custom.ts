/**
 * An agent that is a function:
 *
 *   const greeter = customAgent({ name: 'greeter' }, async function* (ctx) {
 *     const city = ctx.answer('city');
 *     if (city) yield `Hello, ${city.value}`;
 *     else yield ctx.question('city', { text: 'Which city?' });
 *   });
 *
 * Strings are pieces of one answer, shown as they come and stored as a whole at the next event or at the end. When
 * the run is taken up after an answer or a crash, the function is run again from its start: `ctx.answer` and
 * `ctx.checkpoint` say how far it had come.
 */
import type { Agent, RunContext } from '../agent.ts';
import type { Content } from '../content.ts';
import { RunFailure } from '../errors.ts';
import type { Event, EventFields } from '../event.ts';
import type { Callbacks } from '../plugin.ts';

/** A piece of the answer's text, an event's fields, or an event: `ctx.event()`, or one of an agent that it runs. */
export type CustomAgentYield = string | EventFields | Event;

export type CustomAgentFunction = (context: RunContext) => AsyncIterable<CustomAgentYield>;

export interface CustomAgentOptions {
  readonly name: string;
  readonly description?: string;
  /** Those that it runs with `ctx.run`. */
  readonly subAgents?: readonly Agent[];
  readonly callbacks?: Callbacks;
}

/** Of one answer. */
const MAX_TEXT = 32 * 2 ** 20;

export function customAgent(options: CustomAgentOptions, run: CustomAgentFunction): Agent {
  return {
    name: options.name,
    description: options.description ?? '',
    subAgents: options.subAgents ?? [],
    ...(options.callbacks && { callbacks: options.callbacks }),
    async *run(context) {
      let text = '';
      /** Those of one text have the id of the whole. */
      let piece = context.event({ partial: true });
      function whole(): Event {
        const event = { ...context.event({ content: said(text) }), id: piece.id };
        text = '';
        piece = context.event({ partial: true });
        return event;
      }
      for await (const yielded of run(context)) {
        if (typeof yielded === 'string') {
          text += yielded;
          if (text.length > MAX_TEXT) {
            throw new RunFailure(
              'text-limit',
              `${options.name} said more than ${MAX_TEXT} characters`,
            );
          }
          yield { ...piece, content: said(yielded) };
          continue;
        }
        if (text !== '' && yielded.partial !== true) yield whole();
        yield isEvent(yielded) ? yielded : context.event(yielded);
      }
      if (text !== '') yield whole();
    },
  };
}

function said(text: string): Content {
  return { role: 'model', parts: [{ kind: 'text', text }] };
}

function isEvent(yielded: EventFields | Event): yielded is Event {
  return 'id' in yielded && 'runId' in yielded;
}
