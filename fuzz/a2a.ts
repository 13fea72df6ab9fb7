/** A grammar of A2A: valid requests of both versions, to be changed. */
import type { Random } from './random.ts';
import { json, number, text, word, type Json } from './values.ts';

export type Version = '0.3' | '1.0';

/** Names of the protocol. They are used as keys in random places. */
export const KEYS: readonly string[] = [
  ['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'code', 'data', 'kind', 'message'],
  ['messageId', 'contextId', 'taskId', 'role', 'parts', 'content', 'text', 'file', 'raw', 'url'],
  ['bytes', 'uri', 'mimeType', 'mediaType', 'name', 'filename', 'metadata', 'extensions', 'final'],
  ['referenceTaskIds', 'configuration', 'blocking', 'returnImmediately', 'historyLength', 'state'],
  ['acceptedOutputModes', 'pushNotificationConfig', 'taskPushNotificationConfig', 'tenant'],
  ['authentication', 'schemes', 'credentials', 'token', 'pageSize', 'pageToken', 'status', 'task'],
  ['timestamp', 'artifact', 'artifacts', 'artifactId', 'append', 'lastChunk', 'history'],
  ['statusUpdate', 'artifactUpdate', 'includeArtifacts', 'lastUpdatedAfter', 'signatures'],
].flat();

const WORDS = [
  'hello there',
  'hold',
  'ask me',
  'auth',
  'fail now',
  'count 3',
  'reply yes',
  'list src',
];

/** A task that a request can be about: one that exists, or any other. */
export interface Known {
  readonly tasks: readonly string[];
}

export function message(random: Random, version: Version, known: Known): Json {
  const isOld = version === '0.3';
  const parts = Array.from({ length: 1 + random.int(2) }, () => part(random, version));
  const more: Json = {};
  if (random.once(6)) more['taskId'] = taskId(random, known);
  if (random.once(8)) more['contextId'] = text(random);
  if (random.once(8)) more['metadata'] = json(random, KEYS);
  if (random.once(10)) more['extensions'] = [text(random)];
  if (random.once(10)) more['referenceTaskIds'] = [taskId(random, known)];
  const role = isOld ? 'user' : 'ROLE_USER';
  const messageId = random.once(10) ? text(random) : `${word(random)}-${random.int(1e9)}`;
  return { ...(isOld && { kind: 'message' }), messageId, role, parts, ...more };
}

function part(random: Random, version: Version): Json {
  const said = random.once(3) ? text(random) : random.pick(WORDS);
  const where = random.once(2) ? 'AAAA' : text(random);
  const isOld = version === '0.3';
  switch (random.int(6)) {
    case 0:
      return isOld
        ? { kind: 'file', file: { bytes: where, mimeType: 'image/png', name: text(random) } }
        : { raw: where, mediaType: 'image/png', filename: text(random) };
    case 1:
      return isOld ? { kind: 'file', file: { uri: text(random) } } : { url: text(random) };
    case 2:
      return { ...(isOld && { kind: 'data' }), data: isOld ? { a: json(random) } : json(random) };
    default:
      return { ...(isOld && { kind: 'text' }), text: said };
  }
}

export function taskId(random: Random, known: Known): string {
  if (known.tasks.length > 0 && !random.once(4)) return random.pick(known.tasks);
  return text(random);
}

export const METHODS: Readonly<Record<Version, readonly string[]>> = {
  '0.3': [
    ['message/send', 'message/stream', 'tasks/get', 'tasks/list', 'tasks/cancel'],
    ['tasks/resubscribe', 'tasks/pushNotificationConfig/set', 'tasks/pushNotificationConfig/get'],
    ['tasks/pushNotificationConfig/list', 'tasks/pushNotificationConfig/delete'],
    'agent/getAuthenticatedExtendedCard',
  ].flat(),
  '1.0': [
    ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask'],
    ['SubscribeToTask', 'CreateTaskPushNotificationConfig', 'GetTaskPushNotificationConfig'],
    ['ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig'],
    'GetExtendedAgentCard',
  ].flat(),
};

/** The parameters of a method. */
export function params(random: Random, version: Version, method: string, known: Known): Json {
  const isOld = version === '0.3';
  if (/message/i.test(method)) {
    // Without this, the answer to `hold` never comes.
    const configuration: Json = isOld ? { blocking: false } : { returnImmediately: true };
    if (random.once(6)) configuration['historyLength'] = number(random);
    if (random.once(8)) configuration['acceptedOutputModes'] = [text(random)];
    if (random.once(8)) Object.assign(configuration, pushConfig(random, isOld));
    const request: Json = { message: message(random, version, known), configuration };
    if (random.once(8)) request['metadata'] = json(random, KEYS);
    return request;
  }
  const id = taskId(random, known);
  const push = random.once(2) ? 'one' : text(random);
  if (/config/i.test(method)) {
    if (isOld) {
      const config = {
        pushNotificationConfig: { id: push, url: hook(random), token: text(random) },
      };
      return method.endsWith('set')
        ? { taskId: id, ...config }
        : { id, pushNotificationConfigId: push };
    }
    return method.startsWith('Create')
      ? { taskId: id, id: push, url: hook(random) }
      : { taskId: id, id: push };
  }
  if (/list/i.test(method)) {
    const page = { pageSize: number(random), pageToken: text(random), contextId: text(random) };
    return random.once(2) ? {} : page;
  }
  return random.once(3) ? { id, historyLength: number(random) } : { id };
}

/** A webhook must never leave this machine, and no address of this machine may be called. */
function hook(random: Random): string {
  return random.pick([
    'http://127.0.0.1:9/',
    'http://[::1]:9/x',
    'http://10.0.0.1/',
    'ftp://x',
    '',
  ]);
}

function pushConfig(random: Random, isOld: boolean): { [key: string]: Json } {
  const config: Json = { url: hook(random), token: text(random) };
  return isOld ? { pushNotificationConfig: config } : { taskPushNotificationConfig: config };
}

/** A JSON-RPC request. */
export function rpcRequest(random: Random, version: Version, known: Known): Json {
  const method = random.pick(METHODS[version]);
  const id: Json = random.once(6) ? json(random) : random.int(100);
  return { jsonrpc: '2.0', id, method, params: params(random, version, method, known) };
}

const TASK = { id: 't', contextId: 'c' };
const TIME = '2026-01-01T00:00:00.000Z';
const OLD_PARTS = [{ kind: 'text', text: 'hi' }];
const OLD_MESSAGE = { kind: 'message', messageId: 'm', role: 'agent', parts: OLD_PARTS };
const NEW_MESSAGE = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] };
const OLD_STATUS = { state: 'working', timestamp: TIME, message: OLD_MESSAGE };
const NEW_STATUS = { state: 'TASK_STATE_WORKING', timestamp: TIME, message: NEW_MESSAGE };
const OLD_ARTIFACT = { artifactId: 'a', parts: OLD_PARTS };
const NEW_ARTIFACT: Json = {
  artifactId: 'a',
  parts: [{ text: 'hi' }, { raw: 'AAAA' }, { data: 1 }],
};
const IDS = { taskId: 't', contextId: 'c' };

/** What a server sends in its streams and answers. */
export const EVENTS: Readonly<Record<Version, readonly Json[]>> = {
  '0.3': [
    {
      kind: 'task',
      ...TASK,
      status: OLD_STATUS,
      artifacts: [OLD_ARTIFACT],
      history: [OLD_MESSAGE],
    },
    { kind: 'status-update', ...IDS, status: { state: 'completed', timestamp: TIME }, final: true },
    { kind: 'status-update', ...IDS, status: OLD_STATUS, final: false },
    { kind: 'artifact-update', ...IDS, artifact: OLD_ARTIFACT, append: true, lastChunk: false },
    OLD_MESSAGE,
  ],
  '1.0': [
    { task: { ...TASK, status: NEW_STATUS, artifacts: [NEW_ARTIFACT], history: [NEW_MESSAGE] } },
    { statusUpdate: { ...IDS, status: { state: 'TASK_STATE_COMPLETED', timestamp: TIME } } },
    { statusUpdate: { ...IDS, status: NEW_STATUS } },
    { artifactUpdate: { ...IDS, artifact: NEW_ARTIFACT, append: true, lastChunk: false } },
    { message: NEW_MESSAGE },
  ],
};

export const CARD: Json = {
  name: 'Agent',
  description: 'Does things',
  version: '1',
  protocolVersion: '0.3.0',
  url: 'http://127.0.0.1:9/',
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [{ url: 'http://127.0.0.1:9/v1', transport: 'HTTP+JSON' }],
  supportedInterfaces: [
    { url: 'http://127.0.0.1:9/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'x' },
  ],
  capabilities: { streaming: true, pushNotifications: true, extensions: [{ uri: 'urn:x' }] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'], examples: ['e'] }],
  securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
  security: [{ key: [] }],
  securityRequirements: [{ schemes: { key: { list: [] } } }],
  provider: { organization: 'o', url: 'https://o.example' },
  signatures: [{ protected: 'eyJhbGciOiJFZERTQSIsImtpZCI6ImsifQ', signature: 'AAAA' }],
};
