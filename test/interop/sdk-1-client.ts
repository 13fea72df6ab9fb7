/** The client of @a2a-js/sdk 1.3 as a peer: 1.0 on the wire, or 0.3 by its compatibility layer. */
import {
  GetTaskRequest,
  ListTasksRequest,
  roleToJSON,
  SendMessageRequest,
  TaskPushNotificationConfig,
  taskStateToJSON,
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { A2A_ERROR_CODE, isJsonRpcError, isRestError } from '@a2a-js/sdk/errors';
import { BINDING_NAMES, codeInDetails, watchedCalls } from './grpc-calls.ts';
import {
  partsText,
  watchedFetch,
  type Peer,
  type PeerClient,
  type PeerOptions,
  type PushConfig,
  type Said,
  type Seen,
  type SeenCard,
  type SeenMessage,
  type SeenPart,
  type SeenPush,
  type SeenTask,
} from './seen.ts';

type Binding = Peer['binding'];

export function sdk1(binding: Binding): Peer {
  return {
    name: `SDK 1.3 over ${BINDING_NAMES[binding]}`,
    version: '1.0',
    binding,
    connect: (url, options) => connect(url, binding, '1.0', options),
    codeOf,
  };
}

/** The same SDK for those who are left on 0.3. */
export function sdk1Speaking03(binding: Binding): Peer {
  return {
    name: `SDK 1.3 speaking 0.3 over ${BINDING_NAMES[binding]}`,
    version: '0.3',
    reluctant: true,
    binding,
    connect: (url, options) => connect(url, binding, '0.3', options),
    codeOf,
  };
}

async function connect(
  url: string,
  binding: Binding,
  version: Peer['version'],
  peerOptions: PeerOptions = {},
): Promise<PeerClient> {
  const { extensions, signal } = peerOptions;
  const watched = watchedFetch(peerOptions);
  const calls = watchedCalls(peerOptions);
  const legacyCompat = { enabled: version === '0.3' };
  const options = { fetchImpl: watched.fetch, legacyCompat };
  const transport =
    binding === 'JSONRPC'
      ? new JsonRpcTransportFactory(options)
      : binding === 'HTTP+JSON'
        ? new RestTransportFactory(options)
        : new GrpcTransportFactory({ legacyCompat, grpcCallOptions: calls.options });
  const { activated } = binding === 'GRPC' ? calls : watched;
  const cardResolver = new DefaultAgentCardResolver(options);
  const factory = new ClientFactory({ transports: [transport], cardResolver });
  const client = await factory.createFromUrl(url);
  const card = await cardResolver.resolve(url);
  const offer = card.supportedInterfaces.find(
    (one) => one.protocolBinding === binding && one.protocolVersion.startsWith(version),
  );
  const request = {
    ...(extensions && {
      serviceParameters: ServiceParameters.create(withA2AExtensions(...extensions)),
    }),
    ...(signal && { signal }),
  };
  const at = { tenant: '' };
  return {
    card: seenCard(card),
    endpoint: `${offer?.url} ${client.transport.protocolName} ${client.protocolVersion}`,
    get activated() {
      return activated();
    },
    async send(said) {
      const answer = await client.sendMessage(toRequest(said), request);
      return 'messageId' in answer ? seenMessage(answer) : seenTask(answer);
    },
    async *stream(said) {
      for await (const item of client.sendMessageStream(toRequest(said), request)) yield seen(item);
    },
    get: async (id, historyLength) =>
      seenTask(await client.getTask(GetTaskRequest.fromJSON({ id, historyLength }), request)),
    ...(version === '1.0' && {
      async list({ contextId, state, pageSize, pageToken, artifacts }) {
        const status = state && `TASK_STATE_${state.replaceAll('-', '_').toUpperCase()}`;
        const asked = { contextId, status, pageSize, pageToken, includeArtifacts: artifacts };
        const page = await client.listTasks(ListTasksRequest.fromJSON(asked), request);
        const { tasks, nextPageToken: next, totalSize: total } = page;
        return { tasks: tasks.map(seenTask), next, total };
      },
    }),
    cancel: async (id) =>
      seenTask(await client.cancelTask({ ...at, id, metadata: undefined }, request)),
    async *resubscribe(id) {
      for await (const item of client.resubscribeTask({ ...at, id }, request)) yield seen(item);
    },
    // Not by the client itself: it would look at the card first, and the refusals are to be the server's.
    async setPush(config) {
      const asked = TaskPushNotificationConfig.fromJSON(toPush(config));
      return seenPush(await client.transport.createTaskPushNotificationConfig(asked, request));
    },
    getPush: async (taskId, id) =>
      seenPush(
        await client.transport.getTaskPushNotificationConfig({ ...at, taskId, id }, request),
      ),
    async listPush(taskId) {
      const asked = { ...at, taskId, pageSize: 0, pageToken: '' };
      const { configs } = await client.transport.listTaskPushNotificationConfig(asked, request);
      return configs.map(seenPush);
    },
    deletePush: (taskId, id) =>
      client.transport.deleteTaskPushNotificationConfig({ ...at, taskId, id }, request),
    extendedCard: async () => seenCard(await client.transport.getExtendedAgentCard(at, request)),
  };
}

function toRequest(said: Said): SendMessageRequest {
  const { text, parts = [{ text: text ?? '' }], taskId, contextId, blocking = true } = said;
  return SendMessageRequest.fromJSON({
    message: {
      messageId: said.messageId ?? crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: parts.map(toPart),
      taskId,
      contextId,
    },
    configuration: {
      returnImmediately: !blocking,
      historyLength: said.historyLength,
      taskPushNotificationConfig: said.push && toPush(said.push),
    },
  });
}

function toPush({ credentials, ...config }: Omit<PushConfig, 'taskId'>): object {
  return { ...config, ...(credentials && { authentication: { scheme: 'Bearer', credentials } }) };
}

export function toPart(part: SeenPart): object {
  if ('text' in part) return { text: part.text };
  if ('data' in part) return { data: part.data };
  if ('uri' in part) return { url: part.uri, mediaType: part.type };
  return { raw: part.bytes, mediaType: part.type };
}

export function seenPart({ content, mediaType: type }: Part): SeenPart {
  switch (content?.$case) {
    case 'text':
      return { text: content.value };
    case 'data':
      return { data: content.value };
    case 'url':
      return { uri: content.value, type };
    case 'raw':
      // Typed as a Buffer, but on a server it is what structuredClone makes of one.
      return { bytes: Buffer.from(content.value).toString('base64'), type };
    default:
      throw new Error('the SDK saw a part without content');
  }
}

function textOf(message: Message | undefined): string {
  return partsText((message?.parts ?? []).map(seenPart));
}

function roleOf(message: Message): string {
  return roleToJSON(message.role).replace('ROLE_', '').toLowerCase();
}

function seenMessage(message: Message): SeenMessage {
  return { kind: 'message', role: roleOf(message), text: textOf(message) };
}

function seenState(status: Task['status']): { state: string; says: string } {
  if (!status) throw new Error('the SDK saw no status');
  const state = taskStateToJSON(status.state).replace('TASK_STATE_', '');
  return { state: state.replaceAll('_', '-').toLowerCase(), says: textOf(status.message) };
}

function seenTask({ id, contextId, status, history, artifacts }: Task): SeenTask {
  return {
    kind: 'task',
    id,
    contextId,
    ...seenState(status),
    history: history.map((message) => `${roleOf(message)}: ${textOf(message)}`),
    artifacts: artifacts.map(seenParts),
  };
}

function seenParts(artifact: Artifact | undefined): SeenPart[] {
  return (artifact?.parts ?? []).map(seenPart);
}

function seen({ payload }: StreamResponse): Seen {
  switch (payload?.$case) {
    case 'message':
      return seenMessage(payload.value);
    case 'task':
      return seenTask(payload.value);
    case 'statusUpdate':
      return { kind: 'status', taskId: payload.value.taskId, ...seenState(payload.value.status) };
    case 'artifactUpdate':
      return {
        kind: 'artifact',
        taskId: payload.value.taskId,
        parts: seenParts(payload.value.artifact),
      };
    default:
      throw new Error('the SDK saw an event without a payload');
  }
}

function seenPush({ taskId, id, url, token }: TaskPushNotificationConfig): SeenPush {
  return { taskId, id, url, token };
}

function seenCard({ name, description, capabilities, skills }: AgentCard): SeenCard {
  return {
    name,
    description,
    streaming: capabilities?.streaming === true,
    push: capabilities?.pushNotifications === true,
    extensions: (capabilities?.extensions ?? []).map(({ uri }) => uri),
    skills: skills.map(({ id }) => id),
  };
}

const CODES: Readonly<Record<string, number>> = {
  TaskNotFoundError: A2A_ERROR_CODE.TASK_NOT_FOUND,
  TaskNotCancelableError: A2A_ERROR_CODE.TASK_NOT_CANCELABLE,
  PushNotificationNotSupportedError: A2A_ERROR_CODE.PUSH_NOTIFICATION_NOT_SUPPORTED,
  UnsupportedOperationError: A2A_ERROR_CODE.UNSUPPORTED_OPERATION,
  ContentTypeNotSupportedError: A2A_ERROR_CODE.CONTENT_TYPE_NOT_SUPPORTED,
  ExtendedAgentCardNotConfiguredError: A2A_ERROR_CODE.EXTENDED_CARD_NOT_CONFIGURED,
  ExtensionSupportRequiredError: A2A_ERROR_CODE.EXTENSION_SUPPORT_REQUIRED,
  VersionNotSupportedError: A2A_ERROR_CODE.VERSION_NOT_SUPPORTED,
  RequestMalformedError: A2A_ERROR_CODE.INVALID_PARAMS,
};

function codeOf(error: unknown): number | undefined {
  if (isJsonRpcError(error)) return error.envelopeCode;
  // REST has no codes: the SDK tells errors apart by their reason, and gives each a name.
  if (isRestError(error) && error.statusCode === 401) return -31401;
  if (!(error instanceof Error)) return undefined;
  const said = /\(Code: (-\d+)\)/.exec(error.message)?.[1];
  const named = CODES[error.name] ?? codeInDetails(error);
  return named ?? (said === undefined ? undefined : Number(said));
}
