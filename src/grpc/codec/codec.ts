/**
 * Converts between the internal format and protobuf messages. For this purpose, it converts protobuf messages to and
 * from JSON objects. The JSON codecs do the rest, because the JSON of 1.0 and of 0.3's REST binding is the ProtoJSON of
 * the same definitions.
 */
import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromJson,
  isMessage,
  type JsonValue,
  type JsonWriteOptions,
  type Message,
  toJson,
} from '@bufbuild/protobuf';
import { isObject } from '../../base/index.ts';
import {
  A2AError,
  type AgentCard,
  codecOf,
  inspectJson,
  METHODS,
  type Operation,
  OPERATIONS,
  type ParamsOf,
  type ProtocolVersion,
  type ResultOf,
  type StreamEvent,
  type StreamItem,
  type UnaryOperation,
} from '../../protocol/index.ts';
import { withProtoSecurity, withSecurityNames } from './card-v03.ts';
import { withIds, withNames } from './resource-names.ts';
import { READ_OPTIONS, serviceSchema } from './schema.ts';

/** The codec of one protocol version over gRPC. */
export interface ProtoCodec {
  readonly version: ProtocolVersion;
  readonly service: DescService;
  /** The methods of the service. 0.3 has no method that lists tasks. */
  readonly methods: ReadonlyMap<Operation, DescMethod>;
  /** The schema of an event of a stream. */
  readonly eventSchema: DescMessage;
  /** Server: decodes a request. Throws `invalidParams` if it is invalid. */
  decodeParams<O extends Operation>(operation: O, message: unknown): ParamsOf<O>;
  /** Client: encodes a request. */
  encodeParams<O extends Operation>(operation: O, params: ParamsOf<O>): Message;
  encodeResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): Message;
  /** Client: decodes a response. Throws `invalidAgentResponse` if it is invalid. */
  decodeResult<O extends UnaryOperation>(operation: O, message: Message): ResultOf<O>;
  /** Encodes one event of a stream, with its sequence number. */
  encodeEvent(event: StreamEvent, seq: number | undefined): Message;
  decodeEvent(message: Message): StreamItem;
}

/** The method names of 0.3 that differ from those of 1.0. */
const OLD_NAMES: { readonly [O in Operation]?: string } = {
  subscribe: 'TaskSubscription',
  listPushConfigs: 'ListTaskPushNotificationConfig',
  getExtendedCard: 'GetAgentCard',
};

const SERVICES: Readonly<Record<ProtocolVersion, string>> = {
  '0.3': 'a2a.v1.A2AService',
  '1.0': 'lf.a2a.v1.A2AService',
};

function createProtoCodec(version: ProtocolVersion): ProtoCodec {
  const service = serviceSchema(SERVICES[version]);
  const json = codecOf(version, 'GRPC');
  const isOld = version === '0.3';
  const methods = new Map<Operation, DescMethod>();
  for (const operation of OPERATIONS) {
    const name = (isOld ? OLD_NAMES[operation] : undefined) ?? METHODS[operation].names['1.0'];
    const method = service.methods.find((each) => each.name === name);
    if (method) methods.set(operation, method);
  }

  function methodOf(operation: Operation): DescMethod {
    const method = methods.get(operation);
    if (!method) {
      throw new A2AError('methodNotFound', `A2A ${version} has no such method over gRPC`);
    }
    return method;
  }

  const eventSchema = methodOf('subscribe').output;

  return {
    version,
    service,
    methods,
    eventSchema,
    decodeParams(operation, message) {
      const raw = jsonOf(methodOf(operation).input, message, 'invalidParams');
      return json.decodeParams(operation, isOld ? withIds(operation, raw) : raw);
    },
    encodeParams(operation, params) {
      const raw = json.encodeParams(operation, params);
      return messageOf(methodOf(operation).input, isOld ? withNames(operation, raw) : raw);
    },
    encodeResult(operation, result) {
      const { output } = methodOf(operation);
      const raw = json.encodeResult(operation, result);
      return messageOf(
        output,
        isOld && isCard(operation, result) ? withProtoSecurity(raw, result) : raw,
      );
    },
    decodeResult(operation, message) {
      const { output } = methodOf(operation);
      if (operation !== 'getExtendedCard') {
        return json.decodeResult(operation, jsonOf(output, message, 'invalidAgentResponse'));
      }
      // Required fields of a card may be empty, and protobuf omits empty fields.
      const raw = jsonOf(output, message, 'invalidAgentResponse', { alwaysEmitImplicit: true });
      return json.decodeResult(operation, isOld ? withSecurityNames(raw) : raw);
    },
    encodeEvent(event, seq) {
      const raw = json.encodeEvent(event);
      const whole = seq === undefined ? raw : { ...Object(raw), parleySequence: String(seq) };
      return messageOf(eventSchema, whole);
    },
    decodeEvent(message) {
      const { parleySequence, ...raw } = jsonOf(eventSchema, message, 'invalidAgentResponse');
      const seq = Number(parleySequence);
      return { event: json.decodeEvent(raw), seq: Number.isSafeInteger(seq) ? seq : undefined };
    },
  };
}

function isCard(operation: Operation, _result: unknown): _result is AgentCard {
  return operation === 'getExtendedCard';
}

/**
 * Converts a message to JSON. Throws an A2AError of the given kind if the JSON exceeds the limits of `inspectJson`, or
 * if the message cannot be written as JSON. For example, a NaN or an empty Value cannot be written.
 */
function jsonOf(
  schema: DescMessage,
  message: unknown,
  kind: 'invalidParams' | 'invalidAgentResponse',
  options?: Partial<JsonWriteOptions>,
): Record<string, unknown> {
  if (!isMessage(message, schema)) throw new TypeError(`not a ${schema.typeName}`);
  try {
    const raw = toJson(schema, message, options);
    // The limits are the same as in the JSON bindings.
    inspectJson(raw);
    return isObject(raw) ? raw : {};
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new A2AError(kind, `The protobuf message is not valid: ${reason}`.slice(0, 300));
  }
}

const KNOWN_ONLY = { ignoreUnknownFields: true, ...READ_OPTIONS };

/** Converts JSON to a message. Fields that the schema does not have are omitted. */
function messageOf(schema: DescMessage, raw: unknown): Message {
  try {
    if (isFiniteJson(raw)) return fromJson(schema, raw as JsonValue, KNOWN_ONLY);
  } catch {
    // A value that is not JSON is converted below.
  }
  return fromJson(schema, plainJson(raw), KNOWN_ONLY);
}

/** Returns whether all numbers in a value are finite. A peer cannot convert a message with NaN or Infinity to JSON. */
function isFiniteJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isFiniteJson);
  if (!isObject(value)) return true;
  for (const key in value) if (!isFiniteJson(value[key])) return false;
  return true;
}

/**
 * Converts a value that is not JSON. As in the other bindings, undefined values are removed, and NaN and Infinity
 * become null. A timestamp in another format is converted to the format of RFC 3339. A timestamp that cannot be parsed
 * is removed. Half a surrogate pair is replaced, because UTF-8 cannot encode it. A model's chunk of text can end in the
 * middle of a pair.
 */
function plainJson(raw: unknown): JsonValue {
  const text = JSON.stringify(raw, function (this: unknown, key: string, value: unknown) {
    const ofStatus = key === 'timestamp' && isObject(this) && 'state' in this;
    if (!(ofStatus || key === 'statusTimestampAfter') || typeof value !== 'string') return value;
    const time = Date.parse(value);
    return Number.isNaN(time) ? undefined : new Date(time).toISOString();
  });
  return JSON.parse(text.replaceAll(ESCAPED, (found) => (found === '\\\\' ? found : '\u{FFFD}')));
}

/** Half a surrogate pair, which JSON.stringify escapes. Also matches an escaped backslash, to skip it. */
const ESCAPED = /\\(?:\\|ud[89a-f][\da-f]{2})/g;

const codecs: Readonly<Record<ProtocolVersion, ProtoCodec>> = {
  '0.3': createProtoCodec('0.3'),
  '1.0': createProtoCodec('1.0'),
};

/** Returns the codec of a version over gRPC. */
export function protoCodecOf(version: ProtocolVersion): ProtoCodec {
  return codecs[version];
}
