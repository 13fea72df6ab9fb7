/**
 * The agent as a session wants it: with the model that was chosen there, and within the limits on what a session may
 * use. Where one is reached the run fails, and the calls that the model has asked for last are not made.
 */
import type { JsonValue } from '../../base/index.ts';
import {
  type Agent,
  type LlmAgent,
  functionCalls,
  RunFailure,
  type Model,
  resolveModel,
} from '../../agent/index.ts';
import type { Settings } from '../settings/schema.ts';
import { SessionCost } from './usage.ts';

/** The name of the session's model, where it is another than the seat's. */
export const MODEL_KEY = 'coder.model';
/** Models that are kept open beside the seat's. */
const MAX_MODELS = 16;

export interface SessionModelOptions {
  readonly model: Model;
  readonly limits: Settings['limits'];
  agentWith(model: Model): LlmAgent;
}

export interface SessionModel {
  readonly agent: Agent;
  /** The model of the session with this state. Throws a ModelError where it cannot be used any more. */
  readonly modelOf: (state: (key: string) => JsonValue | undefined) => Model;
}

export function sessionModel(options: SessionModelOptions): SessionModel {
  const { model, limits } = options;
  const agent = options.agentWith(model);
  const others = new Map<string, { readonly model: Model; readonly agent: LlmAgent }>();

  function entryOf(state: (key: string) => JsonValue | undefined) {
    const name = state(MODEL_KEY);
    if (typeof name !== 'string' || name === model.name) return { model, agent };
    let entry = others.get(name);
    if (!entry) {
      const resolved = resolveModel(name);
      entry = { model: resolved, agent: options.agentWith(resolved) };
      const [oldest] = others.keys();
      if (others.size >= MAX_MODELS && oldest !== undefined) others.delete(oldest);
      others.set(name, entry);
    }
    return entry;
  }

  return {
    modelOf: (state) => entryOf(state).model,
    agent: {
      ...agent,
      async *run(context) {
        const read = (key: string) => context.state.get(key);
        const spending = new SessionCost(context.events, read);
        checkLimits(spending, limits);
        const entry = entryOf(read);
        if (entry.model !== model) {
          yield context.event({ partial: true, metadata: { model: entry.model.name } });
        }
        for await (const event of entry.agent.run(context)) {
          yield event;
          if (event.partial === true) continue;
          spending.add(event);
          // A whole answer is one, also when it went over the limit; the next request is not made.
          if (functionCalls(event.content).length > 0) checkLimits(spending, limits);
        }
      },
    },
  };
}

function checkLimits(spending: SessionCost, limits: Settings['limits']): void {
  const { maxTokens = Infinity, maxCostUsd = Infinity } = limits ?? {};
  if (spending.tokens >= maxTokens) {
    throw new RunFailure('token-limit', `the session has used its ${maxTokens} tokens`);
  }
  if (spending.cost.usd >= maxCostUsd) {
    throw new RunFailure('cost-limit', `the session has cost its ${maxCostUsd} US dollars`);
  }
}
