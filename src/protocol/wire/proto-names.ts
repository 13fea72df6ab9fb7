/**
 * In ProtoJSON, a field has two names. Writers use the JSON name (`taskId`), but readers must also accept the name in
 * the .proto file (`task_id`). This module replaces the .proto names with the JSON names before other code reads the
 * JSON.
 */
import { isObject } from '../../base/index.ts';
import type { Raw } from './read.ts';

/** The JSON name of a field, and whether to convert its value. Fields that need no change have no entry. */
interface Field {
  readonly name: string;
  /**
   * Whether the names inside the value are replaced too. `metadata` and `data` have no entry, because the peer defines
   * their content.
   */
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

/** The field names in `lf.a2a.v1`, except those of the card. */
export const NAMES_V1: Names = fieldsOf(
  namesOf(
    `${MESSAGES} media_type reference_task_ids return_immediately task_push_notification_config`,
  ),
);

/**
 * The field names in `a2a.v1` (0.3), except those of the card. The fields `request`, `update` and `msg` all have the
 * JSON name `message`.
 */
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
 * Replaces names at all levels. If both names of a field are present, the value under the JSON name is used. If no
 * name has to be replaced, which is the usual case, returns the value itself without copying it.
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
