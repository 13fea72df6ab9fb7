export { grpcBinding } from './binding.ts';
