/**
 * ProtoJSON has two names for a field. Writers use the JSON name (`taskId`); readers must also accept the name in the
 * .proto file (`task_id`). This module replaces the second by the first, before anything else reads the JSON.
 */
import { isObject } from '../../base/index.ts';
import type { Raw } from './read.ts';

/** What to do with a field. Fields without an entry need no change. */
interface Field {
  readonly name: string;
  /** Whether the value contains protocol fields. `metadata` and `data` do not: their content belongs to the peer. */
  readonly inside: boolean;
}

type Names = ReadonlyMap<string, Field>;

function namesOf(list: string): [proto: string, json: string][] {
  return list
    .trim()
    .split(/\s+/)
    .map((name) => [
      name,
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    ]);
}

const INSIDE = `artifact artifacts artifactUpdate authentication config configs configuration content file history message
  parts pushNotification pushNotificationConfig status statusUpdate task taskPushNotificationConfig tasks`;

const MESSAGES = `accepted_output_modes artifact_id artifact_update context_id history_length include_artifacts last_chunk
  message_id next_page_token page_size page_token status_timestamp_after status_update task_id total_size`;

/** `lf.a2a.v1`, without the card. */
export const NAMES_V1: Names = fieldsOf(
  namesOf(
    `${MESSAGES} media_type reference_task_ids return_immediately task_push_notification_config`,
  ),
);

/** 0.3's `a2a.v1`, without the card. Three fields have a JSON name that is a different word. */
export const NAMES_V03: Names = fieldsOf([
  ...namesOf(`${MESSAGES} config_id file_with_bytes file_with_uri mime_type push_notification push_notification_config
    push_notification_config_id`),
  ['request', 'message'],
  ['update', 'message'],
  ['msg', 'message'],
]);

function fieldsOf(names: readonly (readonly [proto: string, json: string])[]): Names {
  const inside = new Set(INSIDE.trim().split(/\s+/));
  const own = [...inside].map((name) => [name, { name, inside: true }] as const);
  return new Map([
    ...own,
    ...names.map(([proto, name]) => [proto, { name, inside: inside.has(name) }] as const),
  ]);
}

/**
 * Replaces names at all levels. If both names are present, the JSON name wins. A value that needs no change is returned
 * as it is, which is the usual case: then this reads each key once and copies nothing.
 */
export function withJsonNames(value: unknown, names: Names): unknown {
  if (Array.isArray(value)) return listWithJsonNames(value, names);
  return isObject(value) ? objectWithJsonNames(value, names) : value;
}

function objectWithJsonNames(raw: Raw, names: Names): Raw {
  let copy: Raw | undefined;
  for (const key in raw) {
    const field = names.get(key);
    if (field === undefined) continue;
    const { name, inside } = field;
    const value = raw[key];
    const inner = inside ? withJsonNames(value, names) : value;
    if (name === key && inner === value) continue;
    copy ??= { ...raw };
    if (name !== key) delete copy[key];
    if (name === key || raw[name] == null) copy[name] = inner;
  }
  return copy ?? raw;
}

function listWithJsonNames(list: unknown[], names: Names): unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const item: unknown = list[index];
    if (!isObject(item)) continue;
    const named = objectWithJsonNames(item, names);
    if (named !== item) (copy ??= list.slice())[index] = named;
  }
  return copy ?? list;
}
