export { grpcService, type GrpcOptions } from './service.ts';
