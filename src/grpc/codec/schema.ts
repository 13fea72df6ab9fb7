/** The protobuf schemas, made from the descriptors of the .proto files. */
import {
  createFileRegistry,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type FileRegistry,
} from '@bufbuild/protobuf';
import { base64Decode } from '@bufbuild/protobuf/wire';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { MAX_JSON_DEPTH } from '../../protocol/index.ts';
import DESCRIPTORS from './descriptors.json' with { type: 'json' };

/**
 * Options for reading messages. `inspectJson`, which is called after a message was read, limits the levels of JSON. One
 * level of JSON takes two levels of protobuf, so `recursionLimit` is high enough for every message that `inspectJson`
 * accepts. Unknown fields are not kept, because nothing reads them, and each of them would need several objects in
 * memory.
 */
export const READ_OPTIONS = {
  recursionLimit: 2 * MAX_JSON_DEPTH + 20,
  readUnknownFields: false,
};

export const registry: FileRegistry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, base64Decode(DESCRIPTORS)),
);

export function serviceSchema(name: string): DescService {
  const found = registry.getService(name);
  if (!found) throw new Error(`the descriptors have no service ${name}: run scripts/proto.ts`);
  return found;
}

/** Returns whether a method has one request and one response. */
export function isUnary(method: DescMethod | undefined): method is DescMethodUnary {
  return method?.methodKind === 'unary';
}

/** Returns whether a method has one request and a stream of responses. */
export function isServerStreaming(
  method: DescMethod | undefined,
): method is DescMethodServerStreaming {
  return method?.methodKind === 'server_streaming';
}

/** Returns whether a method has a stream of requests and a stream of responses. */
export function isBidiStreaming(method: DescMethod | undefined): method is DescMethodBiDiStreaming {
  return method?.methodKind === 'bidi_streaming';
}
