/** The model, the approval mode and the usage of a session, as every client sees them, and the names of the models. */
import type { Session, State } from '../../agent/index.ts';
import { contextTokens } from '../../agent/internal/index.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { SessionUsage } from '../../protocol/development-tool/index.ts';
import { modeOf } from '../approval/guard.ts';
import type { ApprovalMode } from '../approval/rule.ts';
import { MODEL_KEY, modelChoices } from './session-model.ts';
import { sessionKey, sessionName, type SessionOwner } from './session-owner.ts';
import { SessionCost } from './usage.ts';
import { APP, type CommonOptions, type WorkspaceAgent } from './workspace-agent.ts';

export interface SessionStatus {
  /** The name of the model that answers the next prompt. */
  readonly model: string;
  readonly approval: ApprovalMode;
  readonly usage: SessionUsage;
}

type Agent = Pick<WorkspaceAgent, 'model' | 'modelOf' | 'mode' | 'loosest' | 'priceOf'>;

/**
 * Returns the status of a session for the run `runId`. If another run, such as a command, has rewound the conversation
 * since this run started, the token count ignores the rewind.
 */
export function sessionStatus(
  { events, state }: Pick<Session, 'events' | 'state'>,
  agent: Agent,
  runId?: string,
): SessionStatus {
  const { usd, unknown } = new SessionCost(events, (key) => state[key], agent.priceOf).cost;
  const contextLimit = contextWindowIn(state, agent);
  return {
    model: modelNameIn(state, agent.model),
    approval: modeOf(agent, (key) => state[key]),
    usage: {
      contextTokens: contextTokens(events, APP, runId),
      ...(contextLimit !== undefined && { contextLimit }),
      ...(unknown.length === 0 && usd > 0 && { costUsd: usd }),
    },
  };
}

/** Returns the name of the model of a session with this state. `model` is the model of the workspace. */
export function modelNameIn(state: State, model: { readonly name: string }): string {
  const name = state[MODEL_KEY];
  return typeof name === 'string' ? name : model.name;
}

function contextWindowIn(state: State, agent: Agent): number | undefined {
  try {
    return agent.modelOf((key) => state[key]).contextWindow;
  } catch {
    // The model is no longer available, for example because its key is missing. The next turn reports the error.
    return undefined;
  }
}

const MAX_CACHED = 1000;

/**
 * Returns the names of the available models, and a cache of the name of each session's current model. With the cache,
 * most messages can be accepted without reading the session. Each turn puts the name of its model into the cache.
 */
export function modelNames({
  sessions,
  model,
  models,
}: Pick<CommonOptions, 'sessions' | 'model' | 'models'>) {
  const cached = new BoundedMap<string>(MAX_CACHED);

  async function read(owner: SessionOwner): Promise<string> {
    const session = await sessions.get(sessionKey(owner));
    // A turn may have set another name in the meantime.
    const name = cached.get(sessionName(owner)) ?? modelNameIn(session?.state ?? {}, model);
    cached.set(sessionName(owner), name);
    return name;
  }

  return {
    /** The names of the models that are offered to a session. A session may also select another model. */
    choices: modelChoices(model, models),
    of: (owner: SessionOwner): MaybePromise<string> =>
      cached.get(sessionName(owner)) ?? read(owner),
    set: (owner: SessionOwner, name: string) => cached.set(sessionName(owner), name),
  };
}
