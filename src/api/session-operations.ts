import { deviceOperations } from './session-device.ts';
import { disconnectAppOperation, listConnectedAppsOperation } from './session-apps.ts';
import type { SessionOperation } from './session-operation.ts';
import {
  changePasswordOperation,
  getMe,
  provePasswordOperation,
  requestSignUpOperation,
  sendVerification,
  signInOperation,
  signOut,
  signUpOperation,
  verifyEmailOperation,
} from './session.ts';
import { acceptInvitationOperation, declineInvitationOperation, listInvitations } from './session-invitations.ts';
import { listKeys, mintKeyOperation, revokeKeyOperation } from './session-keys.ts';
import { sshKeyOperations } from './session-ssh-keys.ts';
import { endOtherSessionsOperation, endSessionOperation, listSessions } from './session-list.ts';

/** All operations of the dashboard. */
export const sessionOperations: readonly SessionOperation[] = [
  getMe,
  requestSignUpOperation,
  signUpOperation,
  signInOperation,
  signOut,
  changePasswordOperation,
  provePasswordOperation,
  sendVerification,
  verifyEmailOperation,
  listSessions,
  endSessionOperation,
  endOtherSessionsOperation,
  listKeys,
  mintKeyOperation,
  revokeKeyOperation,
  ...sshKeyOperations,
  listConnectedAppsOperation,
  disconnectAppOperation,
  listInvitations,
  acceptInvitationOperation,
  declineInvitationOperation,
  ...deviceOperations,
];
