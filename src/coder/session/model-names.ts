/**
 * The names of the models that sessions use. They are cached, so that most messages are accepted without reading their
 * session. While a turn runs, the name of its model is always cached.
 */
import type { Model, SessionStore } from '../../agent/index.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import { userOf } from '../../bridge/index.ts';
import type { RequestContext } from '../../tasks/index.ts';
import { modelNameIn } from './session-status.ts';
import { APP } from './workspace-agent.ts';

const MAX_CACHED = 1000;

/** Identifies a session. */
type SessionOwner = Pick<RequestContext, 'user' | 'tenant' | 'contextId'>;

export class ModelNames {
  readonly #sessions: SessionStore;
  readonly #default: Model;
  readonly #cached = new BoundedMap<string>(MAX_CACHED);

  constructor({ sessions, model }: { readonly sessions: SessionStore; readonly model: Model }) {
    this.#sessions = sessions;
    this.#default = model;
  }

  of(owner: SessionOwner): MaybePromise<string> {
    return this.#cached.get(nameOf(owner)) ?? this.#read(owner);
  }

  set(owner: SessionOwner, model: string): void {
    this.#cached.set(nameOf(owner), model);
  }

  async #read(owner: SessionOwner): Promise<string> {
    const key = { app: APP, user: userOf(owner), id: owner.contextId };
    const model = modelNameIn((await this.#sessions.get(key))?.state ?? {}, this.#default);
    // A turn may have set another name in the meantime.
    const name = this.#cached.get(nameOf(owner)) ?? model;
    this.set(owner, name);
    return name;
  }
}

function nameOf(owner: SessionOwner): string {
  return JSON.stringify([userOf(owner), owner.contextId]);
}
