/**
 * Reads messages, tasks and events of both versions into the internal format. Callers validate the result with a
 * schema. A `Dialect` describes the differences between the versions: names, the format of parts, and a few fields.
 *
 * This is a hot path on the server, so each object is copied only once, and plain loops are used.
 */
import { isObject } from '../../base/index.ts';
import type { Role } from '../message.ts';
import type { TaskState } from '../task.ts';
import { isSettled } from '../task-state.ts';
import { dropEmpty, dropNull, objectAt, refuse, type Raw } from './read.ts';

export interface Dialect {
  readonly states: ReadonlyMap<unknown, TaskState>;
  readonly roles: ReadonlyMap<unknown, Role>;
  /**
   * The state of a status that has no `state` field. proto3 omits zero values, so this is the state with the value
   * zero.
   */
  readonly noState: TaskState;
  /** Whether the version is 0.3. In 0.3, messages may have their parts in `content`, and events have `final`. */
  readonly old: boolean;
  /** Returns whether a part is empty. Some peers send an empty part for a null value. */
  readonly isBlank: (part: Raw) => boolean;
  /** Reads the part at `index` of the field `list`. */
  readonly part: (raw: unknown, list: string, index: number) => unknown;
}

export interface Reader {
  readonly message: (raw: unknown, at: string) => Raw;
  readonly task: (raw: unknown, at: string) => Raw;
  readonly statusUpdate: (raw: unknown, at: string) => Raw;
  readonly artifactUpdate: (raw: unknown, at: string) => Raw;
}

/**
 * Makes a reader. With `lenient`, parts may be missing, and empty parts are dropped. This option is for a peer's
 * responses. Requests must follow the protocol.
 */
export function createReader(dialect: Dialect, lenient: boolean): Reader {
  const { states, roles, noState, old, isBlank, part } = dialect;

  function parts(raw: unknown, list: string): unknown[] {
    if (!Array.isArray(raw) || raw.length === 0) {
      if (lenient && (raw == null || Array.isArray(raw))) return [];
      refuse(list, 'must be an array with at least one part');
    }
    // Most messages have one part. `push` would reserve memory for 17 parts.
    if (raw.length === 1 && !lenient) return [part(raw[0], list, 0)];
    const out: unknown[] = [];
    for (let index = 0; index < raw.length; index++) {
      const item: unknown = raw[index];
      if (lenient && isObject(item) && isBlank(item)) continue;
      out.push(part(item, list, index));
    }
    return out;
  }

  function message(value: unknown, at: string): Raw {
    const raw = objectAt(value, at);
    const role = roles.get(raw.role);
    if (role === undefined) refuse(`${at}.role`, 'unknown role in this protocol version');
    const inContent = old && raw.parts == null && raw.content != null;
    const list = inContent ? parts(raw.content, `${at}.content`) : parts(raw.parts, `${at}.parts`);
    const out: Raw = { ...raw, kind: 'message', role, parts: list };
    if (inContent) delete out.content;
    // A helper function with the key as a parameter would be too slow on this hot path.
    if (raw.contextId === null || raw.contextId === '') delete out.contextId;
    if (raw.taskId === null || raw.taskId === '') delete out.taskId;
    if (raw.metadata === null) delete out.metadata;
    if (raw.extensions === null) delete out.extensions;
    if (raw.referenceTaskIds === null) delete out.referenceTaskIds;
    return out;
  }

  function stateOf(raw: Raw, at: string): TaskState {
    const state = raw.state == null ? noState : states.get(raw.state);
    if (state === undefined) refuse(`${at}.state`, 'unknown state in this protocol version');
    return state;
  }

  function status(raw: Raw, at: string, state: TaskState): Raw {
    const out: Raw = { ...raw, state };
    if (raw.message != null) out.message = message(raw.message, `${at}.message`);
    dropNull(out, 'message');
    dropEmpty(out, 'timestamp');
    return out;
  }

  function artifact(value: unknown, at: string): Raw {
    const raw = objectAt(value, at);
    const out: Raw = { ...raw, parts: parts(raw.parts, `${at}.parts`) };
    dropNull(out, 'name');
    dropNull(out, 'description');
    dropNull(out, 'extensions');
    dropNull(out, 'metadata');
    return out;
  }

  function list(value: unknown, at: string, read: (item: unknown, at: string) => Raw): Raw[] {
    if (!Array.isArray(value)) refuse(at, 'must be an array');
    const out: Raw[] = [];
    for (let index = 0; index < value.length; index++) {
      out.push(read(value[index], `${at}[${index}]`));
    }
    return out;
  }

  function task(value: unknown, at: string): Raw {
    const raw = objectAt(value, at);
    const inside = objectAt(raw.status, `${at}.status`);
    const out: Raw = { ...raw, kind: 'task', contextId: raw.contextId ?? '' };
    out.status = status(inside, `${at}.status`, stateOf(inside, `${at}.status`));
    if (raw.history != null) out.history = list(raw.history, `${at}.history`, message);
    if (raw.artifacts != null) out.artifacts = list(raw.artifacts, `${at}.artifacts`, artifact);
    dropNull(out, 'history');
    dropNull(out, 'artifacts');
    dropNull(out, 'metadata');
    return out;
  }

  function statusUpdate(value: unknown, at: string): Raw {
    const raw = objectAt(value, at);
    const inside = objectAt(raw.status, `${at}.status`);
    const state = stateOf(inside, `${at}.status`);
    const out: Raw = { ...raw, kind: 'status-update', contextId: raw.contextId ?? '' };
    out.status = status(inside, `${at}.status`, state);
    out.final = old && typeof raw.final === 'boolean' ? raw.final : isSettled(state);
    dropNull(out, 'metadata');
    return out;
  }

  function artifactUpdate(value: unknown, at: string): Raw {
    const raw = objectAt(value, at);
    const out: Raw = { ...raw, kind: 'artifact-update', contextId: raw.contextId ?? '' };
    out.artifact = artifact(raw.artifact, `${at}.artifact`);
    dropNull(out, 'append');
    dropNull(out, 'lastChunk');
    dropNull(out, 'metadata');
    return out;
  }

  return { message, task, statusUpdate, artifactUpdate };
}

/**
 * Reads an event from the member that is named after the event's kind. Returns undefined if there is no known member.
 */
export function readMember(reader: Reader, raw: Raw): Raw | undefined {
  if (raw.artifactUpdate != null)
    return reader.artifactUpdate(raw.artifactUpdate, 'artifactUpdate');
  if (raw.statusUpdate != null) return reader.statusUpdate(raw.statusUpdate, 'statusUpdate');
  if (raw.task != null) return reader.task(raw.task, 'task');
  if (isObject(raw.message)) return reader.message(raw.message, 'message');
  return undefined;
}
