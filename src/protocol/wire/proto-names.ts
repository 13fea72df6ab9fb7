/**
 * ProtoJSON has two names for a field: the JSON name (`taskId`), which is written, and the one of the .proto file
 * (`task_id`), which a reader must take as well. This turns the second into the first, so that nothing behind it knows.
 */
import { isObject } from '../../base/index.ts';
import type { Raw } from './read.ts';

/** What is to be done with a field; most have no entry, because there is nothing. */
interface Field {
  readonly name: string;
  /** There are fields of the protocol in it. What `metadata` and `data` hold is the peer's own. */
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

/** 0.3's `a2a.v1`, without the card. In three places its JSON name is another word. */
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
 * The value with the JSON names, all the way down; where both names are there, the JSON name counts. What needs no
 * change is returned as it is, and that is nearly everything: this looks at each key once, and copies nothing.
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
