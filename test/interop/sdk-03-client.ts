/** The client of @a2a-js/sdk 0.3.14 as a peer. Its REST transport speaks the protobuf mapping of 0.3. */
import type {
  AgentCard,
  Artifact,
  Message,
  MessageSendParams,
  Part,
  PushNotificationConfig,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskStatusUpdateEvent,
} from 'a2a-sdk-v03';
import {
  AuthenticatedExtendedCardNotConfiguredError,
  ClientFactory,
  ContentTypeNotSupportedError,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  PushNotificationNotSupportedError,
  RestTransportFactory,
  ServiceParameters,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
  withA2AExtensions,
} from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
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

export function sdk03(binding: Peer['binding']): Peer {
  return {
    name: `SDK 0.3 over ${BINDING_NAMES[binding]}`,
    version: '0.3',
    binding,
    connect: (url, options) => connect(url, binding, options),
    codeOf,
  };
}

async function connect(
  url: string,
  binding: Peer['binding'],
  peerOptions: PeerOptions = {},
): Promise<PeerClient> {
  const { extensions, signal } = peerOptions;
  const watched = watchedFetch(peerOptions);
  const calls = watchedCalls(peerOptions);
  const fetchImpl = watched.fetch;
  const transport =
    binding === 'JSONRPC'
      ? new JsonRpcTransportFactory({ fetchImpl })
      : binding === 'HTTP+JSON'
        ? new RestTransportFactory({ fetchImpl })
        : new GrpcTransportFactory({ grpcCallOptions: calls.options });
  const { activated } = binding === 'GRPC' ? calls : watched;
  const cardResolver = new DefaultAgentCardResolver({ fetchImpl });
  const client = await new ClientFactory({ transports: [transport], cardResolver }).createFromUrl(
    url,
  );
  const card = await cardResolver.resolve(url);
  const offers = [
    { transport: card.preferredTransport, url: card.url },
    ...(card.additionalInterfaces ?? []),
  ];
  const offer = offers.find((one) => one.transport === binding);
  const request = {
    ...(extensions && {
      serviceParameters: ServiceParameters.create(withA2AExtensions(...extensions)),
    }),
    ...(signal && { signal }),
  };
  return {
    card: seenCard(card),
    endpoint: `${offer?.url} ${transport.protocolName} ${card.protocolVersion.slice(0, 3)}`,
    get activated() {
      return activated();
    },
    async send(said) {
      const answer = await client.sendMessage(toParams(said), request);
      return answer.kind === 'message' ? seenMessage(answer) : seenTask(answer);
    },
    async *stream(said) {
      for await (const item of client.sendMessageStream(toParams(said), request)) yield seen(item);
    },
    get: async (id, historyLength) =>
      seenTask(
        await client.getTask(
          { id, ...(historyLength !== undefined && { historyLength }) },
          request,
        ),
      ),
    cancel: async (id) => seenTask(await client.cancelTask({ id }, request)),
    async *resubscribe(id) {
      for await (const item of client.resubscribeTask({ id }, request)) yield seen(item);
    },
    // Not by the client itself: it would look at the card first, and the refusals are to be the server's.
    async setPush({ taskId, ...config }) {
      const asked = { taskId, pushNotificationConfig: toPush(config) };
      return seenPush(await client.transport.setTaskPushNotificationConfig(asked, request));
    },
    getPush: async (id, pushNotificationConfigId) =>
      seenPush(
        await client.transport.getTaskPushNotificationConfig(
          { id, pushNotificationConfigId },
          request,
        ),
      ),
    listPush: async (id) =>
      (await client.transport.listTaskPushNotificationConfig({ id }, request)).map(seenPush),
    deletePush: (id, pushNotificationConfigId) =>
      client.transport.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId }, request),
    extendedCard: async () => seenCard(await client.transport.getExtendedAgentCard(request)),
  };
}

function toParams(said: Said): MessageSendParams {
  const { text, parts = [{ text: text ?? '' }], taskId, contextId, historyLength, push } = said;
  return {
    message: {
      kind: 'message',
      messageId: said.messageId ?? crypto.randomUUID(),
      role: 'user',
      parts: parts.map(toPart),
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    },
    configuration: {
      blocking: said.blocking ?? true,
      ...(historyLength !== undefined && { historyLength }),
      ...(push && { pushNotificationConfig: toPush(push) }),
    },
  };
}

function toPush({ credentials, ...config }: Omit<PushConfig, 'taskId'>): PushNotificationConfig {
  return credentials === undefined
    ? config
    : { ...config, authentication: { schemes: ['Bearer'], credentials } };
}

export function toPart(part: SeenPart): Part {
  if ('text' in part) return { kind: 'text', text: part.text };
  if ('data' in part) return { kind: 'data', data: part.data as Record<string, unknown> };
  if ('uri' in part) return { kind: 'file', file: { uri: part.uri, mimeType: part.type } };
  return { kind: 'file', file: { bytes: part.bytes, mimeType: part.type } };
}

export function seenPart(part: Part): SeenPart {
  if (part.kind === 'text') return { text: part.text };
  if (part.kind === 'data') return { data: part.data };
  const { file } = part;
  const type = file.mimeType ?? '';
  return 'uri' in file ? { uri: file.uri, type } : { bytes: file.bytes, type };
}

function textOf(message: Message | undefined): string {
  return partsText((message?.parts ?? []).map(seenPart));
}

function seenMessage(message: Message): SeenMessage {
  return { kind: 'message', role: message.role, text: textOf(message) };
}

function seenTask({ id, contextId, status, history = [], artifacts = [] }: Task): SeenTask {
  return {
    kind: 'task',
    id,
    contextId,
    state: status.state,
    says: textOf(status.message),
    history: history.map((message) => `${message.role}: ${textOf(message)}`),
    artifacts: artifacts.map(seenParts),
  };
}

function seenParts({ parts }: Artifact): SeenPart[] {
  return parts.map(seenPart);
}

function seen(event: Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent): Seen {
  switch (event.kind) {
    case 'message':
      return seenMessage(event);
    case 'task':
      return seenTask(event);
    case 'status-update': {
      const { state, message } = event.status;
      return { kind: 'status', taskId: event.taskId, state, says: textOf(message) };
    }
    default:
      return { kind: 'artifact', taskId: event.taskId, parts: seenParts(event.artifact) };
  }
}

function seenPush({ taskId, pushNotificationConfig }: TaskPushNotificationConfig): SeenPush {
  const { id = '', url, token = '' } = pushNotificationConfig;
  return { taskId, id, url, token };
}

function seenCard({ name, description, capabilities, skills }: AgentCard): SeenCard {
  return {
    name,
    description,
    streaming: capabilities.streaming === true,
    push: capabilities.pushNotifications === true,
    extensions: (capabilities.extensions ?? []).map(({ uri }) => uri),
    skills: skills.map(({ id }) => id),
  };
}

const CODES = new Map<abstract new (...args: never[]) => Error, number>([
  [TaskNotFoundError, -32001],
  [TaskNotCancelableError, -32002],
  [PushNotificationNotSupportedError, -32003],
  [UnsupportedOperationError, -32004],
  [ContentTypeNotSupportedError, -32005],
  [AuthenticatedExtendedCardNotConfiguredError, -32007],
]);

/** A class for some; for the others, and for every refusal of a stream, the code is in the text. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const inDetails = codeInDetails(error);
  if (inDetails !== undefined) return inDetails;
  for (const [type, code] of CODES) if (error instanceof type) return code;
  const said = /\(Code: (-\d+)\)/.exec(error.message)?.[1];
  return said === undefined ? undefined : Number(said);
}
