/** Values of the internal format, for property tests of the codecs. */
import fc from 'fast-check';
import type * as z from 'zod';
import {
  AgentCard,
  isSettled,
  ListTasksResult,
  type Operation,
  type ResultOf,
  SendResult,
  StreamEvent,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
  type UnaryOperation,
  v03Rest,
  type WireCodec,
} from '../../src/protocol/index.ts';

// Arbitraries of the inner shape. JSON has no minus zero and no own `__proto__` gets past inspectJson.
export const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value): unknown => JSON.parse(JSON.stringify(value)));
const key = fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__');
const metadata = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true });
const someMetadata = fc.dictionary(key, json, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const id = fc.string({ minLength: 1, maxLength: 12 });
export const text = fc.string({ maxLength: 20 });
export const word = fc.string({ minLength: 1, maxLength: 8 });
const texts = fc.array(text, { maxLength: 3 });
const base64 = fc
  .uint8Array({ maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));

type Fields = Record<string, fc.Arbitrary<unknown>>;
type Value = Record<string, unknown>;

/** An object some of whose fields may be missing. */
function shape(required: Fields, rest: Fields = {}): fc.Arbitrary<Value> {
  const all: Fields = { ...required, ...rest };
  const requiredKeys = Object.keys(required);
  return fc.record<Value>(all, { requiredKeys, noNullPrototype: true });
}

/** The schema proves that an arbitrary makes what it says. */
export function of<T>(schema: z.ZodType<T>, arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<T> {
  return arbitrary.map((value) => schema.parse(value));
}

const file = fc.oneof(
  shape({ bytes: base64 }, { mimeType: word, name: word }),
  shape({ uri: word }, { mimeType: word, name: word }),
);
const timestamp = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());

/** All that one version has words for; 0.3 over REST, which is protobuf's, has the fewest. */
export function arbitrariesOf(codec: WireCodec) {
  const proto = codec === v03Rest;
  const about: Fields = proto ? {} : { mediaType: word, filename: word };
  const part = fc.oneof(
    shape({ kind: fc.constant('text'), text }, { metadata, ...about }),
    shape({ kind: fc.constant('file'), file }, { metadata }),
    // Empty metadata on a wrapped value is the one thing that 0.3 cannot give back.
    shape({ kind: fc.constant('data'), data: json }, { metadata: someMetadata, ...about }),
  );
  const parts = fc.array(part, { minLength: 1, maxLength: 3 });
  const message = shape(
    {
      kind: fc.constant('message'),
      messageId: id,
      role: fc.constantFrom('user', 'agent'),
      parts,
    },
    {
      contextId: id,
      taskId: id,
      extensions: texts,
      metadata,
      ...(!proto && { referenceTaskIds: texts }),
    },
  );
  const artifact = shape(
    { artifactId: id, parts },
    { name: text, description: text, extensions: texts, metadata },
  );
  const missing: TaskState = codec.version === '0.3' ? 'unspecified' : 'unknown';
  const state = fc.constantFrom(...TaskState.options.filter((name) => name !== missing));
  const status = shape({ state }, { message, timestamp });
  const task = shape(
    { kind: fc.constant('task'), id, contextId: text, status },
    {
      history: fc.array(message, { maxLength: 2 }),
      artifacts: fc.array(artifact, { maxLength: 2 }),
      metadata,
    },
  );
  const statusUpdate = shape(
    {
      kind: fc.constant('status-update'),
      taskId: id,
      contextId: text,
      status,
    },
    { metadata },
  ).map((event) =>
    Object.assign(event, { final: isSettled(TaskStatus.parse(event.status).state) }),
  );
  const artifactUpdate = shape(
    { kind: fc.constant('artifact-update'), taskId: id, contextId: text, artifact },
    { append: fc.boolean(), lastChunk: fc.boolean(), metadata },
  );
  const event = of(StreamEvent, fc.oneof(task, message, statusUpdate, artifactUpdate));

  const schemes = fc.array(word, { minLength: 1, maxLength: codec.version === '0.3' ? 3 : 1 });
  const push = shape(
    { url: word },
    { id, token: word, authentication: shape({ schemes }, { credentials: word }) },
  );
  // Over REST the task's id is a segment of a resource's name.
  const taskId = proto ? id.filter((text) => !text.includes('/')) : id;
  const taskPush = of(TaskPushNotificationConfig, shape({ taskId, pushNotificationConfig: push }));

  const historyLength = fc.integer({ min: proto ? 1 : 0, max: 1000 });
  const tenant = word;
  const blocking = fc.boolean();
  // Protobuf has no absent boolean.
  const configuration = shape(proto ? { blocking } : {}, {
    acceptedOutputModes: texts,
    ...(!proto && { blocking }),
    historyLength,
    pushNotificationConfig: push,
  });
  const send = shape({ message }, { configuration, metadata, tenant });
  const listState = state.filter((name) => name !== 'unspecified' && name !== 'unknown');
  const params: Record<Operation, fc.Arbitrary<unknown>> = {
    sendMessage: send,
    streamMessage: send,
    getTask: shape({ id }, { historyLength, tenant }),
    listTasks: shape(
      {},
      {
        contextId: word,
        status: listState,
        pageSize: fc.integer({ min: 1, max: 100 }),
        pageToken: word,
        historyLength,
        statusTimestampAfter: timestamp,
        includeArtifacts: fc.boolean(),
        tenant,
      },
    ),
    cancelTask: shape({ id }, { metadata, tenant }),
    subscribe: shape({ id }, { after: fc.nat(), tenant }),
    setPushConfig: shape({ taskId, pushNotificationConfig: push }, proto ? {} : { tenant }),
    getPushConfig: shape({ id }, { pushNotificationConfigId: id, tenant }),
    listPushConfigs: shape({ id }, { tenant }),
    deletePushConfig: shape({ id, pushNotificationConfigId: id }, { tenant }),
    getExtendedCard: shape({}, { tenant }),
  };

  const card = cardOf(codec);
  const results: { [O in UnaryOperation]: fc.Arbitrary<ResultOf<O>> } = {
    sendMessage: of(SendResult, fc.oneof(task, message)),
    getTask: of(Task, task),
    listTasks: of(
      ListTasksResult,
      shape({
        tasks: fc.array(task, { maxLength: 2 }),
        nextPageToken: text,
        pageSize: fc.nat(100),
        totalSize: fc.nat(),
      }),
    ),
    cancelTask: of(Task, task),
    setPushConfig: taskPush,
    getPushConfig: taskPush,
    listPushConfigs: fc.array(taskPush, { maxLength: 3 }),
    deletePushConfig: fc.constant(null),
    getExtendedCard: card,
  };
  return { event, params, results, card };
}

function cardOf(codec: WireCodec): fc.Arbitrary<AgentCard> {
  const old = codec.version === '0.3';
  const address = { url: word, protocolBinding: fc.constantFrom('JSONRPC', 'HTTP+JSON', 'GRPC') };
  const supportedInterfaces = fc.uniqueArray(
    old
      ? shape({ ...address, protocolVersion: fc.constant('0.3') })
      : shape({ ...address, protocolVersion: fc.constantFrom('0.3', '1.0') }, { tenant: word }),
    {
      minLength: 1,
      maxLength: 3,
      selector: (entry) => `${String(entry.url)} ${String(entry.protocolBinding)}`,
    },
  );
  const scopes = fc.dictionary(key, text, { maxKeys: 2, noNullPrototype: true });
  const flow = { refreshUrl: text };
  // 1.0 has room for one flow.
  const flows = fc.oneof(
    shape({
      authorizationCode: shape(
        { authorizationUrl: text, tokenUrl: text, scopes },
        { ...flow, pkceRequired: fc.boolean() },
      ),
    }),
    shape({ clientCredentials: shape({ tokenUrl: text, scopes }, flow) }),
    shape({ implicit: shape({ authorizationUrl: text, scopes }, flow) }),
    shape({ password: shape({ tokenUrl: text, scopes }, flow) }),
    shape({
      deviceCode: shape({ deviceAuthorizationUrl: text, tokenUrl: text, scopes }, flow),
    }),
  );
  const description = { description: text };
  const scheme = fc.oneof(
    shape(
      {
        type: fc.constant('apiKey'),
        in: fc.constantFrom('query', 'header', 'cookie'),
        name: text,
      },
      description,
    ),
    shape({ type: fc.constant('http'), scheme: text }, { ...description, bearerFormat: text }),
    shape({ type: fc.constant('oauth2'), flows }, { ...description, oauth2MetadataUrl: text }),
    shape({ type: fc.constant('openIdConnect'), openIdConnectUrl: text }, description),
    shape({ type: fc.constant('mutualTLS') }, description),
  );
  const security = fc.array(fc.dictionary(key, texts, { maxKeys: 2, noNullPrototype: true }), {
    maxLength: 2,
  });
  const skill = shape(
    { id: text, name: text, description: text, tags: texts },
    { examples: texts, inputModes: texts, outputModes: texts, security },
  );
  const extension = shape(
    { uri: word },
    { description: text, required: fc.boolean(), params: metadata },
  );
  const card = shape(
    {
      name: word,
      description: text,
      version: text,
      supportedInterfaces,
      capabilities: shape(
        {},
        {
          streaming: fc.boolean(),
          pushNotifications: fc.boolean(),
          ...(old && { stateTransitionHistory: fc.boolean() }),
          extendedAgentCard: fc.boolean(),
          extensions: fc.array(extension, { maxLength: 2 }),
        },
      ),
      defaultInputModes: texts,
      defaultOutputModes: texts,
      skills: fc.array(skill, { maxLength: 2 }),
    },
    {
      provider: shape({ organization: text, url: text }),
      documentationUrl: text,
      iconUrl: text,
      securitySchemes: fc.dictionary(key, scheme, { maxKeys: 3, noNullPrototype: true }),
      security,
      signatures: fc.array(shape({ protected: text, signature: text }, { header: metadata }), {
        maxLength: 2,
      }),
    },
  );
  return of(AgentCard, card);
}
