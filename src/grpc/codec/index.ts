export { protoCodecOf, type ProtoCodec } from './codec.ts';
export { isBidiStreaming, isServerStreaming, isUnary, registry, serviceSchema } from './schema.ts';
