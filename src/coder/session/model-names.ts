/**
 * The names of the available models, and the name of each session's current model. The names for sessions are cached,
 * so that most messages can be accepted without reading the session. Each turn puts the name of its model into the
 * cache.
 */
import type { Model, SessionStore } from '../../agent/index.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import { modelNameIn } from './session-status.ts';
import { modelChoices } from './session-model.ts';
import { sessionKey, sessionName, type SessionOwner } from './session-owner.ts';
import type { CommonOptions } from './workspace-agent.ts';

const MAX_CACHED = 1000;

export class ModelNames {
  /** The names of the models that are offered to a session. A session may also select another model. */
  readonly choices: readonly string[];
  readonly #sessions: SessionStore;
  readonly #default: Model;
  readonly #cached = new BoundedMap<string>(MAX_CACHED);

  constructor({ sessions, model, models }: Pick<CommonOptions, 'sessions' | 'model' | 'models'>) {
    this.choices = modelChoices(model, models);
    this.#sessions = sessions;
    this.#default = model;
  }

  of(owner: SessionOwner): MaybePromise<string> {
    return this.#cached.get(sessionName(owner)) ?? this.#read(owner);
  }

  set(owner: SessionOwner, model: string): void {
    this.#cached.set(sessionName(owner), model);
  }

  async #read(owner: SessionOwner): Promise<string> {
    const session = await this.#sessions.get(sessionKey(owner));
    const model = modelNameIn(session?.state ?? {}, this.#default);
    // A turn may have set another name in the meantime.
    const name = this.#cached.get(sessionName(owner)) ?? model;
    this.set(owner, name);
    return name;
  }
}
