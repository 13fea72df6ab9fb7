export { protoCodecOf, type ProtoCodec } from './codec.ts';
export { httpStatusOf } from './http-status.ts';
export { limitedBody } from './limited-body.ts';
export {
  isBidiStreaming,
  isServerStreaming,
  isUnary,
  READ_OPTIONS,
  registry,
  serviceSchema,
} from './schema.ts';
