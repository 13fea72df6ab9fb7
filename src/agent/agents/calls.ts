/** Runs the tool calls of one model answer concurrently. Yields their progress, and each outcome as it arrives. */
import type { JsonValue } from '../../base/index.ts';
import type { Content } from '../content.ts';
import type { Answer, Event } from '../event.ts';
import type { AnswerInbox } from '../inbox.ts';
import type { RunScope } from '../run/run-context.ts';
import type { OpenCall } from '../run/run-index.ts';
import type { Tool } from '../tool.ts';
import { settleCall } from './tool-run.ts';

export interface CallsSetup {
  readonly scope: RunScope;
  readonly calls: readonly OpenCall[];
  readonly tools: ReadonlyMap<string, Tool>;
  /** The ids of the calls that were made since the run was started or resumed. */
  readonly made: ReadonlySet<string>;
  readonly history: () => readonly Content[];
}

export async function* settleCalls(setup: CallsSetup): AsyncGenerator<Event> {
  const { scope, calls, tools, made, history } = setup;
  const outcomes: (() => Event)[] = [];
  /** The latest progress of each call. A slow reader misses some values, but does not delay the calls. */
  const shown = new Map<string, JsonValue>();
  /** Calls with an open question. The answer may arrive while other calls run. */
  const asking = new Map<string, OpenCall>();
  const { inbox } = scope.inner;
  let wake: (() => void) | undefined;
  let open = 0;

  function arrive(outcome: () => Event): void {
    outcomes.push(outcome);
    wake?.();
  }

  function settle(call: OpenCall, isNew: boolean): void {
    const { id } = call.part;
    let ended = false;
    open++;
    const progress = (value: JsonValue): void => {
      if (ended) return;
      shown.set(id, value);
      wake?.();
    };
    settleCall({ scope, call, tools, isNew, history, progress }).then(
      (event) => {
        ended = true;
        if (event.actions.questions && inbox) asking.set(id, call);
        arrive(() => {
          shown.delete(id);
          return event;
        });
      },
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  }

  using _listening = inbox?.listen(() => wake?.());
  for (const call of calls) settle(call, made.has(call.part.id));

  while (open > 0) {
    const showing = [...shown];
    // Progress is shown only once per round, so that frequent progress of one call does not delay the outcomes of
    // others.
    shown.clear();
    for (const [callId, value] of showing) {
      yield scope.event({ partial: true, actions: { progress: { callId, value } } });
    }
    const outcome = outcomes.shift();
    if (outcome) {
      open--;
      yield outcome();
      continue;
    }
    const answered = firstAnswered(asking, inbox);
    if (answered) {
      const { call, answer } = answered;
      asking.delete(call.part.id);
      yield scope.event({ actions: { answers: [answer] } });
      settle(call, false);
    } else if (shown.size === 0 && outcomes.length === 0) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

/** Returns a call whose question now has an answer, together with the answer. */
function firstAnswered(
  asking: ReadonlyMap<string, OpenCall>,
  inbox: AnswerInbox | undefined,
): { readonly call: OpenCall; readonly answer: Answer } | undefined {
  for (const call of asking.values()) {
    const answer = call.question && inbox?.take(call.question);
    if (answer) return { call, answer };
  }
  return undefined;
}
