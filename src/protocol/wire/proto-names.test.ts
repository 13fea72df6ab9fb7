import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAMES_V03, NAMES_V1, withJsonNames } from './proto-names.ts';

test("the .proto file's names become JSON's, at every level of the protocol", () => {
  assert.deepEqual(
    withJsonNames(
      {
        message: {
          message_id: 'm',
          task_id: 't',
          parts: [{ text: 'x', media_type: 'text/plain' }],
        },
        configuration: {
          history_length: 1,
          return_immediately: true,
          task_push_notification_config: { task_id: 't', url: 'u' },
        },
      },
      NAMES_V1,
    ),
    {
      message: { messageId: 'm', taskId: 't', parts: [{ text: 'x', mediaType: 'text/plain' }] },
      configuration: {
        historyLength: 1,
        returnImmediately: true,
        taskPushNotificationConfig: { taskId: 't', url: 'u' },
      },
    },
  );
});

test('what is the own of a peer keeps its names', () => {
  const own = {
    metadata: { task_id: 1, message: { message_id: 2 } },
    message: {
      parts: [{ data: { task_id: 3, parts: [{ media_type: 4 }] } }],
      metadata: { task_id: 5 },
    },
    my_field: { task_id: 6 },
    task: { id: 'x', metadata: { context_id: 7 } },
  };
  assert.equal(withJsonNames(own, NAMES_V1), own);
  assert.equal(withJsonNames(own, NAMES_V03), own);
});

test('what needs no change is not copied', () => {
  const raw = { message: { messageId: 'm', parts: [{ text: 'x' }] }, configuration: {} };
  assert.equal(withJsonNames(raw, NAMES_V1), raw);
  assert.equal(withJsonNames(undefined, NAMES_V1), undefined);
  assert.equal(withJsonNames('text', NAMES_V1), 'text');
  const given = {
    task_id: 't',
    message: { parts: [{ text: 'x' }, { text: 'y', media_type: 'z' }] },
  };
  const before = structuredClone(given);
  withJsonNames(given, NAMES_V1);
  assert.deepEqual(given, before);
});

test('where both names are there, that of JSON counts, unless it is null', () => {
  assert.deepEqual(withJsonNames({ task_id: 'old', taskId: 'new' }, NAMES_V1), { taskId: 'new' });
  assert.deepEqual(withJsonNames({ taskId: 'new', task_id: 'old' }, NAMES_V1), { taskId: 'new' });
  assert.deepEqual(withJsonNames({ taskId: null, task_id: 'old' }, NAMES_V1), { taskId: 'old' });
});

test('0.3 has three fields whose name in JSON is another word', () => {
  assert.deepEqual(withJsonNames({ request: { message_id: 'm' } }, NAMES_V03), {
    message: { messageId: 'm' },
  });
  assert.deepEqual(withJsonNames({ msg: { message_id: 'm' } }, NAMES_V03), {
    message: { messageId: 'm' },
  });
  assert.deepEqual(withJsonNames({ status: { update: { task_id: 't' } } }, NAMES_V03), {
    status: { message: { taskId: 't' } },
  });
});
