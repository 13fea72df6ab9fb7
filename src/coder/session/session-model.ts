/**
 * Runs the agent with the model of the session, and enforces the limits of a session's usage. After a limit is reached,
 * a new run fails at once. A current run fails when the model requests tool calls, which are then not executed, or when
 * a hook refuses the end of the turn.
 */
import { BoundedMap } from '../../base/index.ts';
import {
  contentText,
  functionCalls,
  isFinalResponse,
  type LlmAgent,
  type Model,
  type RunContext,
} from '../../agent/index.ts';
import { RunFailure } from '../../agent/internal/index.ts';
import type { Settings } from '../settings/schema.ts';
import type { PriceOf } from './prices.ts';
import { SessionCost, type ReadState } from './usage.ts';

/** The key of the model's name in the session's state. If it is not set, the session uses the workspace's model. */
export const MODEL_KEY = 'coder.model';
/** Maximum number of models that are cached in addition to the workspace's model. */
const MAX_MODELS = 16;

/**
 * Returns the names of the models to choose from, starting with the model of the workspace. A session may also use a
 * model that is not in this list.
 */
export function modelChoices(model: Model, others: readonly string[] = []): readonly string[] {
  return [...new Set([model.name, ...others])];
}

export interface SessionModelOptions {
  readonly model: Model;
  readonly limits: Settings['limits'];
  readonly priceOf?: PriceOf;
  /** Returns the model with this name. Throws a ModelError if there is no such model. */
  resolve(name: string): Model;
  agentWith(model: Model): LlmAgent;
  /**
   * Called when the agent has finished, with the agent's answer. If the function returns a text, the agent continues
   * with this text as its next task. In one execution of the turn, the agent continues at most MAX_CONTINUED times.
   * After that, the function is not called.
   */
  readonly afterTurn?: (run: RunContext, answer: string) => Promise<string | undefined>;
}

const MAX_CONTINUED = 3;

export function sessionModel(options: SessionModelOptions) {
  const { model, limits } = options;
  const agent = options.agentWith(model);
  const others = new BoundedMap<{ readonly model: Model; readonly agent: LlmAgent }>(MAX_MODELS);

  function entryOf(state: ReadState) {
    const name = state(MODEL_KEY);
    if (typeof name !== 'string' || name === model.name) return { model, agent };
    let entry = others.get(name);
    if (!entry) {
      const resolved = options.resolve(name);
      entry = { model: resolved, agent: options.agentWith(resolved) };
      others.set(name, entry);
    }
    return entry;
  }

  return {
    /** Returns the model of a session with this state. Throws a ModelError if the model is no longer available. */
    modelOf: (state: ReadState) => entryOf(state).model,
    agent: {
      ...agent,
      async *run(context: RunContext) {
        const read = (key: string) => context.state.get(key);
        const spending = new SessionCost(context.events, read, options.priceOf);
        checkLimits(spending, limits);
        for (let continued = 0; ; continued++) {
          let answer: string | undefined;
          for await (const event of entryOf(read).agent.run(context)) {
            yield event;
            if (event.partial === true) continue;
            if (event.content?.role === 'model' && isFinalResponse(event)) {
              answer = contentText(event.content);
            }
            spending.add(event);
            // An answer that exceeds the limit is still completed. Tool calls are not run, because they would cause
            // another request to the model.
            if (functionCalls(event.content).length > 0) checkLimits(spending, limits);
          }
          if (answer === undefined || continued >= MAX_CONTINUED) return;
          const more = await options.afterTurn?.(context, answer);
          if (more === undefined) return;
          checkLimits(spending, limits);
          yield context.event({
            content: {
              role: 'user',
              parts: [{ kind: 'text', text: `[A hook says that the work is not done] ${more}` }],
            },
            // Replaces the checkpoint that marks the agent as done, because the agent continues.
            actions: { checkpoint: { path: context.path, value: null } },
          });
        }
      },
    },
  };
}

function checkLimits(spending: SessionCost, limits: Settings['limits']): void {
  const { maxTokens = Infinity, maxCostUsd = Infinity } = limits ?? {};
  if (spending.tokens >= maxTokens) {
    throw new RunFailure('token-limit', `the session has reached its limit of ${maxTokens} tokens`);
  }
  if (spending.cost.usd >= maxCostUsd) {
    const reason = `the session has reached its limit of ${maxCostUsd} US dollars`;
    throw new RunFailure('cost-limit', reason);
  }
}
