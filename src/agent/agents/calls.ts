/** The calls of one answer of the model, all at the same time: their progress, and each one's outcome when it is there. */
import type { Content } from '../content.ts';
import type { Event } from '../event.ts';
import type { JsonValue } from '../json.ts';
import type { Scope } from '../run-context.ts';
import type { OpenCall } from '../run-index.ts';
import type { Tool } from '../tool.ts';
import { settleCall } from './tool-run.ts';

export interface CallsSetup {
  readonly scope: Scope;
  readonly calls: readonly OpenCall[];
  readonly tools: ReadonlyMap<string, Tool>;
  /** The calls that were made since the run was begun or taken up. */
  readonly made: ReadonlySet<string>;
  readonly history: () => readonly Content[];
}

export async function* settleCalls(setup: CallsSetup): AsyncGenerator<Event> {
  const { scope, calls, tools, made, history } = setup;
  const outcomes: (() => Event)[] = [];
  /** Only the latest of each call: who looks slowly misses some, and holds nothing up. */
  const shown = new Map<string, JsonValue>();
  let wake: (() => void) | undefined;
  let open = calls.length;

  function arrive(outcome: () => Event): void {
    outcomes.push(outcome);
    wake?.();
  }

  for (const call of calls) {
    const { id } = call.part;
    const isNew = made.has(id);
    const progress = (value: JsonValue): void => {
      shown.set(id, value);
      wake?.();
    };
    settleCall({ scope, call, tools, isNew, history, progress }).then(
      (event) => arrive(() => event),
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  }

  while (open > 0) {
    if (outcomes.length === 0 && shown.size === 0) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
    for (const [callId, value] of shown) {
      shown.delete(callId);
      yield scope.event({ partial: true, actions: { progress: { callId, value } } });
    }
    const outcome = outcomes.shift();
    if (!outcome) continue;
    open--;
    yield outcome();
  }
}
