"""Drafters and the policy that decides whether drafts pay; imports kv, costs, `runtime.interface` and below."""
