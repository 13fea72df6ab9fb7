/** The changes of state and artifacts that an agent or a tool has made since its last event. */
import type { JsonValue } from '../../base/index.ts';
import type { Artifacts } from '../artifact.ts';
import type { Actions } from '../event.ts';
import { toJson } from '../storage-error.ts';
import type { MutableState } from '../tool.ts';

export class Changes {
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly #values = new Map<string, JsonValue>();
  readonly #versions = new Map<string, number>();

  constructor(read: (key: string) => JsonValue | undefined, artifacts: Artifacts) {
    this.state = {
      get: (key) => {
        const value = this.#values.get(key);
        return value === undefined ? read(key) : (value ?? undefined);
      },
      set: (key, value) => {
        // JavaScript code may pass undefined. This value is ignored, as in a state delta.
        if (value === undefined) return;
        // The value is checked here, because a later error of the store would not show which code had set the value.
        toJson(`value of ${key}`, value);
        this.#values.set(key, value);
      },
    };
    this.artifacts = {
      load: (name, version) => artifacts.load(name, version),
      list: () => artifacts.list(),
      save: async (name, content) => {
        const version = await artifacts.save(name, content);
        this.#versions.set(name, version);
        return version;
      },
    };
  }

  get empty(): boolean {
    return this.#values.size === 0 && this.#versions.size === 0;
  }

  /** Moves the changes into an event's actions. Values that are already in the actions take precedence. */
  drainInto(actions: Actions): Actions {
    if (this.empty) return actions;
    const stateDelta = { ...Object.fromEntries(this.#values), ...actions.stateDelta };
    const artifactDelta = { ...Object.fromEntries(this.#versions), ...actions.artifactDelta };
    const drained = {
      ...actions,
      ...(this.#values.size > 0 && { stateDelta }),
      ...(this.#versions.size > 0 && { artifactDelta }),
    };
    this.#values.clear();
    this.#versions.clear();
    return drained;
  }
}
