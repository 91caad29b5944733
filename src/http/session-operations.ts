import { disconnectAppOperation, listConnectedAppsOperation } from '../people/apps/api.ts';
import { deviceOperations } from '../people/grants/session-api.ts';
import { listKeys, mintKeyOperation, revokeKeyOperation } from '../people/keys/api.ts';
import {
  acceptInvitationOperation,
  declineInvitationOperation,
  listInvitations,
} from '../people/members/invitations-api.ts';
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
} from '../people/session-api.ts';
import { endOtherSessionsOperation, endSessionOperation, listSessions } from '../people/sessions-api.ts';
import { sshKeyOperations } from '../sftp/ssh-keys-api.ts';
import type { SessionOperation } from './session-operation.ts';

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
