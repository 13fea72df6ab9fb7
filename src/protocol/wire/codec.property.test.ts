import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type * as z from 'zod';
import { AgentCard } from '../card.ts';
import { A2AError, ERRORS, type ErrorKind } from '../errors.ts';
import { METHODS, OPERATIONS, type Operation, type ParamsOf } from '../methods.ts';
import { ListTasksResult, TaskPushNotificationConfig } from '../params.ts';
import { SendResult, StreamEvent, Task, TaskState, TaskStatus } from '../task.ts';
import { isSettled } from '../task-state.ts';
import type { ResultOf, UnaryOperation } from '../methods.ts';
import type { WireCodec } from './codec.ts';
import { encodeRestError } from './rest-error.ts';
import { v03 } from './v03.ts';
import { v03Rest } from './v03-rest.ts';
import { v1 } from './v1.ts';

// Arbitraries of the inner shape. JSON has no minus zero and no own `__proto__` gets past inspectJson.
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value): unknown => JSON.parse(JSON.stringify(value)));
const key = fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__');
const metadata = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true });
const someMetadata = fc.dictionary(key, json, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const id = fc.string({ minLength: 1, maxLength: 12 });
const text = fc.string({ maxLength: 20 });
const word = fc.string({ minLength: 1, maxLength: 8 });
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
function of<T>(schema: z.ZodType<T>, arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<T> {
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
function arbitrariesOf(codec: WireCodec) {
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

function onWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The names of the .proto file for those of JSON, except in what is the peer's own. */
function inProtoNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inProtoNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inside]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name === 'metadata' || name === 'data' ? inside : inProtoNames(inside),
    ]),
  );
}

/** Decodes as it was encoded, and as it is after a trip through text. */
function comesBack(value: unknown, encoded: unknown, decode: (raw: unknown) => unknown): void {
  const before = JSON.stringify(value);
  assert.deepEqual(decode(encoded), value);
  assert.deepEqual(decode(onWire(encoded)), value);
  assert.equal(JSON.stringify(value), before, 'the value is not changed');
}

const schemas: { [O in Operation]: { params: z.ZodType<ParamsOf<O>> } } = METHODS;
const RUNS = { numRuns: 100 };

for (const [name, codec] of Object.entries({ '0.3': v03, '0.3 over REST': v03Rest, '1.0': v1 })) {
  const arbitrary = arbitrariesOf(codec);

  describe(`codec ${name}`, () => {
    test('every event comes back as it was', () => {
      fc.assert(
        fc.property(arbitrary.event, (event) => {
          comesBack(event, codec.encodeEvent(event), (raw) => codec.decodeEvent(raw));
        }),
        RUNS,
      );
    });

    test('the short way to the text of an event, where there is one, leads to the same text', () => {
      fc.assert(
        fc.property(arbitrary.event, (event) => {
          const text = JSON.stringify(codec.encodeEvent(event));
          assert.equal(codec.eventText?.(event) ?? text, text);
        }),
        RUNS,
      );
    });

    for (const operation of OPERATIONS) {
      test(`the parameters of ${operation} come back as they were`, () => {
        roundTripParams(operation);
      });
    }

    for (const operation of Object.keys(arbitrary.results) as UnaryOperation[]) {
      test(`the result of ${operation} comes back as it was`, () => roundTripResult(operation));
    }

    // JSON-RPC in 0.3 is no ProtoJSON.
    if (codec !== v03) {
      test("everything is understood under the .proto file's names, too", () => {
        for (const operation of OPERATIONS) sameInProtoNames(operation);
        fc.assert(
          fc.property(arbitrary.event, (event) => {
            assert.deepEqual(codec.decodeEvent(inProtoNames(codec.encodeEvent(event))), event);
          }),
          RUNS,
        );
      });
    }

    test('every card comes back as it was', () => {
      fc.assert(
        fc.property(arbitrary.card, (card) => {
          comesBack(card, codec.encodeCard(card), (raw) => codec.decodeCard(raw));
        }),
        RUNS,
      );
    });

    test('parameters of any JSON are taken or refused with an A2AError', () => {
      const operations = fc.constantFrom(...OPERATIONS);
      fc.assert(
        fc.property(operations, nearly(), (operation, raw) => {
          onlyA2AErrors('invalidParams', () => codec.decodeParams(operation, raw));
        }),
        { numRuns: 1000 },
      );
    });

    test('answers of any JSON are taken or refused as invalid', () => {
      const operations = fc.constantFrom(...(Object.keys(arbitrary.results) as UnaryOperation[]));
      fc.assert(
        fc.property(operations, nearly(), (operation, raw) => {
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeResult(operation, raw));
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeEvent(raw));
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeCard(raw));
        }),
        { numRuns: 1000 },
      );
    });

    test('errors of any JSON become an A2AError', () => {
      fc.assert(
        fc.property(nearly(), fc.option(fc.nat(700), { nil: undefined }), (raw, http) => {
          assert.ok(codec.decodeError(raw, http) instanceof A2AError);
        }),
        { numRuns: 1000 },
      );
    });

    test('every error keeps its kind, message, facts and violations on each binding', () => {
      fc.assert(
        fc.property(anyError(), (error) => {
          sameError(codec.decodeError(onWire(codec.encodeError(error)), error.httpStatus), error);
          const rest = encodeRestError(error, codec.version);
          sameError(codec.decodeError(onWire(rest), error.httpStatus), error);
        }),
        RUNS,
      );
    });
  });

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function roundTripParams<O extends Operation>(operation: O): void {
    fc.assert(
      fc.property(of(schemas[operation].params, arbitrary.params[operation]), (params) => {
        comesBack(params, codec.encodeParams(operation, params), (raw) =>
          codec.decodeParams(operation, raw),
        );
      }),
      RUNS,
    );
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function sameInProtoNames<O extends Operation>(operation: O): void {
    fc.assert(
      fc.property(of(schemas[operation].params, arbitrary.params[operation]), (params) => {
        const raw = inProtoNames(codec.encodeParams(operation, params));
        assert.deepEqual(codec.decodeParams(operation, raw), params);
      }),
      { numRuns: 30 },
    );
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function roundTripResult<O extends UnaryOperation>(operation: O): void {
    fc.assert(
      fc.property(arbitrary.results[operation], (result) => {
        comesBack(result, codec.encodeResult(operation, result), (raw) =>
          codec.decodeResult(operation, raw),
        );
      }),
      RUNS,
    );
  }
}

function anyError(): fc.Arbitrary<A2AError> {
  const kind = fc.constantFrom(...(Object.keys(ERRORS) as ErrorKind[]));
  const info = fc.dictionary(fc.constantFrom('taskId', 'state', 'url'), text, {
    minKeys: 1,
    noNullPrototype: true,
  });
  const violation = fc.record({ field: text, description: text }, { noNullPrototype: true });
  const detail = fc.record(
    {
      info,
      violations: fc.array(violation, { minLength: 1, maxLength: 3 }),
      reason: fc.constantFrom('ALREADY_RESOLVED', 'LEASE_LOST'),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  return fc
    .tuple(kind, word, detail)
    .map(([kind, message, detail]) => new A2AError(kind, message, detail));
}

/** An error with a reason of its own has only its code to say what it is, and over REST not even that. */
function sameError(actual: A2AError, expected: A2AError): void {
  if (expected.detail.reason === undefined) assert.equal(actual.kind, expected.kind);
  assert.equal(actual.message, expected.message);
  assert.equal(actual.reason, expected.reason);
  assert.deepEqual(actual.detail.info, expected.detail.info);
  assert.deepEqual(actual.detail.violations, expected.detail.violations);
}

function onlyA2AErrors(kind: ErrorKind, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof A2AError, String(error));
    assert.equal(error.kind, kind);
  }
}

/** JSON that has the protocol's names in it, so that it gets further than pure noise would. */
function nearly(): fc.Arbitrary<unknown> {
  const names = fc.constantFrom(
    ...`message parts content text raw url data file kind role id messageId taskId contextId configuration metadata
      status state task statusUpdate artifactUpdate artifact history artifacts pageSize error tenant name
      pushNotificationConfig taskPushNotificationConfig authentication supportedInterfaces securitySchemes
      securityRequirements skills code @type details reason fieldViolations configs tasks returnImmediately
      schemes`.split(/\s+/),
  );
  const leaf = fc.oneof(
    json,
    fc.constantFrom('ROLE_USER', 'user', 'text', 'message', 'task', 'TASK_STATE_WORKING', 3, ''),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      fc.dictionary(names, tie('tree'), { maxKeys: 6 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }));
  return fc.oneof(tree, fc.dictionary(names, tree, { maxKeys: 8 }), fc.constant(undefined));
}
