/**
 * What a hostile client tries on each wire: one entry for each operation, method and route. The test compares these
 * tables with the program's own, so a new method has to be tried here as well.
 */
import { randomUUID } from 'node:crypto';
import { EXTENSION_URI, type ToolCall } from '../../../src/protocol/development-tool/index.ts';
import type { MessageSendParams, Operation, ParamsOf } from '../../../src/protocol/index.ts';
import { answers, commands, messageOf, messages, orders, settings } from './messages.ts';
import type { World } from './world.ts';

type Tries<T> = (world: World, call: ToolCall) => readonly T[];

const sends: Tries<MessageSendParams> = messages;
const idOf: Tries<{ readonly id: string }> = (world) => [
  { id: world.taskId() },
  { id: randomUUID() },
];
const pushConfig = { id: 'evil', url: 'http://127.0.0.1:1/', token: 'x' };

/** The operations of the protocol, for JSON-RPC and REST of both versions, with and without a tenant. */
export const OPERATION_TRIES: { readonly [O in Operation]: Tries<ParamsOf<O>> } = {
  sendMessage: sends,
  streamMessage: (world, call) => sends(world, call).filter((_, at) => at % 3 === 0),
  getTask: idOf,
  listTasks: () => [{}],
  cancelTask: idOf,
  subscribe: idOf,
  setPushConfig: (world) => [{ taskId: world.taskId(), pushNotificationConfig: pushConfig }],
  getPushConfig: (world) => [{ id: world.taskId(), pushNotificationConfigId: 'evil' }],
  listPushConfigs: idOf,
  deletePushConfig: (world) => [{ id: world.taskId(), pushNotificationConfigId: 'evil' }],
  getExtendedCard: () => [{}],
};

/** `/memory add pwned` as `command/execute` has it. */
function executions(world: World): object[] {
  return commands(world).flatMap((command) => {
    const [, name = '', sub, args = ''] =
      /^\s*\/(\w+)(?:\s+(add))?(?:\s+([^]*))?$/.exec(command) ?? [];
    const command_path = sub === undefined ? [name] : [name, sub];
    return [
      { command_path, args },
      { command_path, args, contextId: world.contextId },
      { command_path, args, contextId: name === 'evil' ? randomUUID() : `${world.contextId}x` },
    ];
  });
}

/** The JSON-RPC methods that the coding agent adds. */
export const METHOD_TRIES: Readonly<Record<string, Tries<object>>> = {
  'commands/get': () => [{}],
  'command/execute': executions,
};

export interface Request {
  readonly path?: string;
  readonly body?: object;
}

/** The routes that the coding agent adds. */
export const ROUTE_TRIES: Readonly<Record<string, Tries<Request>>> = {
  'GET /commands': () => [{}],
  'POST /commands:execute': (world) => executions(world).map((body) => ({ body })),
  'POST /tasks': (world) =>
    settings(world).flatMap((each) => [
      { body: { agentSettings: flat(each) } },
      { body: { agentSettings: flat(each), contextId: world.contextId } },
    ]),
  'POST /message/stream': (world, call) => [
    ...orders().map((userMessage) => ({ body: { userMessage } })),
    ...orders().map((text) => ({
      body: { userMessage: { kind: 'text-content', text }, taskId: world.taskId() },
    })),
    ...settings(world).flatMap((each) => {
      const [, userMessage] = orders();
      const body = { userMessage, agentSettings: flat(each) };
      return [{ body }, { body: { ...body, taskId: world.taskId() } }];
    }),
    ...commands(world).map((userMessage) => ({ body: { userMessage } })),
    ...answers(call).map((each) => ({
      body: {
        taskId: world.taskId(),
        userMessage: {
          ...each,
          kind: 'tool-call-confirmation',
          toolCallId: call.tool_call_id,
          approved: true,
          optionId: 'proceed_once ',
        },
        agentSettings: { autoExecute: true },
      },
    })),
  ],
  'GET /tasks/{id}/metadata': (world) => [{ path: `/tasks/${world.taskId()}/metadata` }],
  'GET /tasks/metadata': () => [{}],
  'GET /listCommands': () => [{}],
  'POST /executeCommand': (world) =>
    commands(world).flatMap((command) => {
      const [name = '', ...args] = command.trim().slice(1).split(/\s+/);
      return [
        { body: { command: name, args } },
        { body: { command: name, args, contextId: world.contextId } },
      ];
    }),
};

function flat(given: object): object {
  const { workspace_path: workspacePath, ...others } = given as { workspace_path?: string };
  return { ...others, ...(workspacePath !== undefined && { workspacePath }) };
}

/** The methods on `/ws`. */
export const LIVE_TRIES: Readonly<Record<string, Tries<object>>> = {
  'message/send': (world, call) => sends(world, call).filter((_, at) => at % 2 === 0),
  'message/stream': (world, call) => sends(world, call).filter((_, at) => at % 5 === 0),
  'session/confirm': (_world, call) => answers(call),
  'tasks/get': idOf,
  'tasks/cancel': idOf,
  'commands/get': () => [{}],
  'command/execute': executions,
  'session/clients': () => [{}],
  'session/files': ({ elsewhere }) => [{ prefix: '../' }, { prefix: `${elsewhere}/` }, {}],
  'session/revoke': () => [{ client: 'terminal' }, { client: 'nobody' }, {}],
};

const text = (words: string) => [{ type: 'text', text: words }];

/** The methods of ACP, those that an editor has to offer included. `SESSION` stands for the session's id. */
export const ACP_TRIES: Readonly<Record<string, Tries<object>>> = {
  initialize: () => [
    {
      protocolVersion: 1,
      clientInfo: { name: 'terminal', version: '1' },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    },
  ],
  authenticate: () => [{ methodId: 'none' }],
  logout: () => [{}],
  'session/new': ({ elsewhere, workspace }) => [
    { cwd: elsewhere, mcpServers: [] },
    {
      cwd: elsewhere,
      mcpServers: [{ name: 'evil', command: 'touch', args: [`${workspace}/by-acp.txt`], env: [] }],
    },
  ],
  'session/load': ({ elsewhere, contextId }) => [
    { sessionId: contextId, cwd: elsewhere, mcpServers: [] },
    { sessionId: randomUUID(), cwd: elsewhere, mcpServers: [] },
  ],
  'session/list': () => [{}],
  'session/delete': ({ contextId }) => [{ sessionId: contextId }],
  'session/resume': ({ elsewhere, contextId }) => [
    { sessionId: contextId, cwd: elsewhere, mcpServers: [] },
  ],
  'session/set_mode': ({ contextId }) =>
    ['yolo', 'root', 'plan'].map((modeId) => ({ sessionId: contextId, modeId })),
  'session/set_config_option': ({ contextId }) => [
    { sessionId: contextId, configId: 'mode', value: 'yolo' },
  ],
  'session/prompt': (world) =>
    [...orders(), ...commands(world), 'yes'].map((words) => ({
      sessionId: world.contextId,
      prompt: text(words),
      _meta: { [EXTENSION_URI]: { autoExecute: true, workspace_path: world.elsewhere } },
    })),
  'session/cancel': () => [],
  'session/close': () => [],
  'session/request_permission': (world, call) => [
    {
      sessionId: world.contextId,
      toolCall: { toolCallId: call.tool_call_id },
      options: [{ optionId: 'proceed_once', name: 'Allow', kind: 'allow_once' }],
    },
  ],
  'session/update': (world, call) => [
    {
      sessionId: world.contextId,
      update: {
        sessionUpdate: 'tool_call_update',
        toolCallId: call.tool_call_id,
        status: 'completed',
      },
    },
    {
      sessionId: world.contextId,
      update: { sessionUpdate: 'current_mode_update', currentModeId: 'yolo' },
    },
  ],
  'fs/write_text_file': ({ contextId, workspace }) => [
    { sessionId: contextId, path: `${workspace}/by-fs.txt`, content: 'x' },
  ],
  'fs/read_text_file': ({ contextId, workspace }) => [
    { sessionId: contextId, path: `${workspace}/precious.txt` },
  ],
  'terminal/create': ({ contextId, workspace }) => [
    { sessionId: contextId, command: 'touch', args: ['by-terminal.txt'], cwd: workspace },
  ],
  'terminal/output': ({ contextId }) => [{ sessionId: contextId, terminalId: '1' }],
  'terminal/release': ({ contextId }) => [{ sessionId: contextId, terminalId: '1' }],
  'terminal/wait_for_exit': ({ contextId }) => [{ sessionId: contextId, terminalId: '1' }],
  'terminal/kill': ({ contextId }) => [{ sessionId: contextId, terminalId: '1' }],
  'elicitation/create': ({ contextId }) => [{ sessionId: contextId, message: 'x' }],
  'elicitation/complete': ({ contextId }) => [{ sessionId: contextId }],
  '$/cancel_request': () => [{ requestId: 0 }],
};

/** Confirmations of whatever waits, as one who may approve sends them. */
export function approvalsOf(taskId: string, waiting: readonly ToolCall[]): MessageSendParams[] {
  const send = (data: object): MessageSendParams => ({
    message: messageOf([{ kind: 'data', data: { ...data } }], { taskId }),
    configuration: { blocking: false },
  });
  return waiting.map(({ tool_call_id }) =>
    send({ tool_call_id, selected_option_id: 'proceed_once' }),
  );
}
