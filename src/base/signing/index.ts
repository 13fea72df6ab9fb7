export {
  openSigningKeys,
  pemBlocks,
  readSigningKeys,
  signingKeys,
  SigningKeyError,
  temporarySigningKeys,
  type PublicKeyJwk,
  type SigningKeys,
} from './signing-keys.ts';
