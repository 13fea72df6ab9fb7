/**
 * Decodes a peer's responses for clients. The decoder reads a response leniently, and then validates it. It throws
 * `invalidAgentResponse` if the response is invalid.
 */
import { isObject } from '../../base/index.ts';
import { isReceivedEvent } from '../checks.ts';
import { parseWith } from '../json.ts';
import { TaskPushNotificationConfig } from '../params.ts';
import type { StreamEvent } from '../task.ts';
import type { ResultOf, UnaryOperation } from '../methods.ts';
import { decodeCard } from './card.ts';
import { answer, objectAt, refuse, type Raw } from './read.ts';
import type { Reader } from './reader.ts';
import { RECEIVED } from './received-schemas.ts';

const { task, sendResult, event, page } = RECEIVED;

/** The functions that read responses of one version. */
export interface AnswerReader extends Pick<Reader, 'task'> {
  readonly event: (raw: unknown) => Raw;
  readonly pushConfig: (raw: Raw) => Raw;
}

export interface AnswerDecoder {
  readonly results: { readonly [O in UnaryOperation]: (raw: unknown) => ResultOf<O> };
  readonly event: (raw: unknown) => StreamEvent;
}

export function createAnswerDecoder(read: AnswerReader): AnswerDecoder {
  const taskOf = (raw: unknown) => answer(() => parseWith(task, read.task(raw, 'task'), 'task'));
  const pushConfig = (raw: unknown) =>
    answer(() => parseWith(TaskPushNotificationConfig, read.pushConfig(objectAt(raw, 'config'))));
  return {
    event: (raw) =>
      answer(() => {
        const value = read.event(raw);
        return isReceivedEvent(value) ? value : parseWith(event, value, 'event');
      }),
    results: {
      sendMessage: (raw) => answer(() => parseWith(sendResult, read.event(raw), 'result')),
      getTask: taskOf,
      // In the 0.3 specification, the result may also be just a list.
      listTasks: (raw) =>
        answer(() =>
          parseWith(
            page,
            readPage(read, Array.isArray(raw) ? { tasks: raw } : objectAt(raw, 'result')),
          ),
        ),
      cancelTask: taskOf,
      setPushConfig: pushConfig,
      getPushConfig: pushConfig,
      // In the JSON of 0.3, the result is a list. In ProtoJSON, it is an object with a list.
      listPushConfigs: (raw) =>
        answer(() =>
          listAt(isObject(raw) ? raw.configs : (raw ?? refuse('result', 'is missing')), 'configs'),
        ).map(pushConfig),
      deletePushConfig: () => null,
      getExtendedCard: decodeCard,
    },
  };
}

function readPage(read: AnswerReader, raw: Raw): Raw {
  const tasks: Raw[] = [];
  const list = listAt(raw.tasks, 'tasks');
  for (let index = 0; index < list.length; index++) {
    tasks.push(read.task(list[index], `tasks[${index}]`));
  }
  return {
    ...raw,
    tasks,
    nextPageToken: raw.nextPageToken ?? '',
    pageSize: raw.pageSize ?? tasks.length,
    totalSize: raw.totalSize ?? tasks.length,
  };
}

/** Returns a list. ProtoJSON omits an empty list. */
function listAt(value: unknown, field: string): unknown[] {
  if (value == null) return [];
  if (!Array.isArray(value)) refuse(field, 'must be an array');
  return value;
}
