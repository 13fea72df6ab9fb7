export { protoCodecOf, type ProtoCodec } from './codec.ts';
export { httpStatusOf } from './http-status.ts';
export { limitedBody } from './limited-body.ts';
export * from './schema.ts';
