/**
 * Makes an agent from an async generator function:
 *
 *   const greeter = customAgent({ name: 'greeter' }, async function* (ctx) {
 *     const city = ctx.answer('city');
 *     if (city) yield `Hello, ${city.value}`;
 *     else yield ctx.question('city', { text: 'Which city?' });
 *   });
 *
 * The yielded strings are chunks of one answer. Each chunk is shown immediately. The chunks are stored together, before
 * the next complete event or at the end. When the run is resumed after an answer or a crash, the function runs again
 * from its start. With `ctx.answer` and `ctx.checkpoint`, the function can find out what was done before.
 */
import type { Agent, RunContext } from '../agent.ts';
import type { Content } from '../content.ts';
import { RunFailure } from '../errors.ts';
import type { Event, EventFields } from '../event.ts';
import type { WorkflowOptions } from './workflow.ts';

/**
 * The values that a custom agent may yield: a chunk of its answer, the fields of an event, or an event from
 * `ctx.event` or `ctx.run`.
 */
export type CustomAgentYield = string | EventFields | Event;

/** The function that does the work of a custom agent. */
export type CustomAgentFunction = (context: RunContext) => AsyncIterable<CustomAgentYield>;

/** The options of `customAgent`. */
export interface CustomAgentOptions extends Omit<WorkflowOptions, 'subAgents'> {
  /** The agents that the custom agent runs with `ctx.run`. */
  readonly subAgents?: readonly Agent[];
}

/** Maximum length of one answer in characters. */
const MAX_TEXT = 32 * 2 ** 20;

/**
 * Makes an agent from an async generator function.
 *
 *   const shout = customAgent({ name: 'shout' }, async function* (ctx) {
 *     yield contentText(ctx.input).toUpperCase();
 *   });
 */
export function customAgent(options: CustomAgentOptions, run: CustomAgentFunction): Agent {
  const { name, description = '', subAgents = [], callbacks } = options;
  return {
    name,
    description,
    subAgents,
    ...(callbacks && { callbacks }),
    async *run(context) {
      let text = '';
      /** The event for chunks. It has the id of the complete event that follows. */
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
              `the answer of ${name} is longer than ${MAX_TEXT} characters`,
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
