/**
 * The gateway's REST dialect: the tasks that A2A clients see, in other words.
 *
 *   POST /a2a/tasks/send            {sessionId?, taskId?, message, metadata?, expiresAt?}    {task}, when it has come to rest
 *   POST /a2a/tasks/sendSubscribe   the same, or {taskId} to follow a task                   events (frames.ts)
 *   GET  /a2a/tasks/{taskId}                                                                 {task}
 *   POST /a2a/tasks/cancel          {taskId}                                                 {task}
 *
 * A stream that broke off is resumed by sending the same body, with its `message.messageId`, or just the `taskId`, and
 * the last id that was seen in `Last-Event-ID` or `?after=`.
 */
import { A2AError, type SendResult, type Task } from '../../protocol/index.ts';
import { lastEventId } from '../../http/index.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { inOwnWords, type Action } from './conflict.ts';
import { createFrames } from './frames.ts';
import {
  CancelBody,
  DialectEvent,
  Failure,
  SendBody,
  SubscribeBody,
  SubscribeQuery,
  TaskAnswer,
} from './schema.ts';
import { dialectTask, paramsOf } from './translation.ts';

const task = { description: 'The task', schema: TaskAnswer };
const invalid = { description: 'What was sent is wrong; it says which field', schema: Failure };
const notFound = { description: 'There is no such task', schema: Failure };
const conflict = { description: 'The state of the task does not allow it', schema: Failure };
const tooLarge = { description: 'The body is too large', schema: Failure };
const SENDING = { 400: invalid, 404: notFound, 409: conflict, 413: tooLarge };

export function dialectRoutes(): GatewayRoute[] {
  const frame = createFrames();
  return [
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/send',
      scope: 'tasks:write',
      resource: 'task',
      summary: 'Begin a task, or continue one, and wait until it comes to rest',
      body: SendBody,
      answers: { 200: task, ...SENDING },
      async handle({ body, call, handler }) {
        checkBeginning(body);
        const sent = handler.sendMessage(paramsOf(body), call);
        return answer(await refusing(sent, body.taskId, 'message'));
      },
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/sendSubscribe',
      scope: 'tasks:write',
      resource: 'task',
      events: true,
      summary: 'Begin a task, continue one, or follow one, and get its events',
      detail:
        'The last event has the type completed, failed, cancelled or input-required. To resume, send the same ' +
        'message.messageId, or only the taskId, with the last id that was seen in Last-Event-ID.',
      query: SubscribeQuery,
      body: SubscribeBody,
      answers: {
        200: {
          description: 'Server-sent events; each `data` is one of these',
          contentType: 'text/event-stream',
          schema: DialectEvent,
        },
        ...SENDING,
      },
      async handle(input) {
        const { body, call, handler } = input;
        const { message, taskId } = body;
        checkBeginning(body);
        const seen = lastEventId(input, input.query.after) ?? 0;
        if (message !== undefined) {
          // `seen` counts for a message that was here before: without a place in the log it is told from the start.
          const sent = handler.streamMessage(paramsOf({ ...body, message }), call, seen);
          return { stream: await refusing(sent, taskId, 'message'), frame };
        }
        return { stream: await handler.subscribe({ id: taskId ?? '', after: seen }, call), frame };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/tasks/{taskId}',
      scope: 'tasks:read',
      resource: 'task',
      summary: 'One task',
      answers: { 200: task, 404: notFound },
      async handle({ values, call, handler }) {
        return answer(await handler.getTask({ id: values['taskId'] ?? '' }, call));
      },
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/tasks/cancel',
      scope: 'tasks:write',
      resource: 'task',
      summary: 'Cancel a task that is not finished',
      body: CancelBody,
      answers: { 200: task, 400: invalid, 404: notFound, 409: conflict },
      async handle({ body: { taskId }, call, handler }) {
        const canceled = handler.cancelTask({ id: taskId }, call);
        return answer(await refusing(canceled, taskId, 'cancel'));
      },
    }),
  ];
}

function answer(result: SendResult) {
  return { body: { task: dialectTask(taskIn(result)) } };
}

function taskIn(result: SendResult): Task {
  if (result.kind === 'task') return result;
  throw new TypeError('the gateway answers with tasks, and this was a message');
}

/** What the handler gives; what it refuses, in the dialect's words. */
async function refusing<Result>(
  work: Promise<Result>,
  taskId: string | undefined,
  action: Action,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw taskId === undefined ? error : inOwnWords(error, action);
  }
}

/** What is fixed when a task begins cannot be sent to one that is there. */
function checkBeginning({ taskId, expiresAt }: Pick<SendBody, 'taskId' | 'expiresAt'>): void {
  if (taskId === undefined || expiresAt === undefined) return;
  throw new A2AError('invalidParams', 'expiresAt: it is fixed when a task begins; leave it out');
}
